"""What members say: votes, coded and packed; collecting them; keeping them in a folder."""
