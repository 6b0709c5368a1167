"""How good a choice is: on rows held out, at every size, before and after."""
