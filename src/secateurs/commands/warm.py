"""``secateurs warm``: compile all kernels ahead of their first use."""

import click

from secateurs.commands.command_errors import Refusal
from secateurs.commands.console_output import Output
from secateurs.commands.shared_options import common_options
from secateurs.text_format import format_count


@click.command()
@common_options
def warm(out: Output) -> None:
    """Compile all kernels before their first use.

    Later runs then start at once. Container images and read-only installations need this: run it
    once after the installation, as a user who may write to the installed package, or with
    NUMBA_CACHE_DIR set as in later runs.
    """
    from secateurs.outputs.compiling import cache_folder, count_compilations
    from secateurs.warm import compile_kernels

    folder = cache_folder()
    if folder is None:
        raise Refusal(
            "no_cache",
            "no folder for compiled kernels is writable. Set NUMBA_CACHE_DIR to a writable "
            "folder, or run the command as a user who may write to the installed package.",
        )
    with out.show_progress("compiling"), count_compilations() as n_compiled:
        compile_kernels()
    n_new = n_compiled()
    text = f"{format_count(n_new, 'kernel')} compiled" if n_new else "all kernels were cached"
    out.print_result({"compiled": n_new, "folder": folder}, f"{text}; cache: {folder}")
