"""What the prompt's keys do beyond prompt_toolkit's own (Emacs) bindings."""

from __future__ import annotations

from collections.abc import Callable

from prompt_toolkit.filters import is_searching
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent


def prompt_keys(is_complete: Callable[[str], bool]) -> KeyBindings:
    """Enter runs what is complete and else begins a line; Alt-Enter always begins one."""
    keys = KeyBindings()

    @keys.add("enter", filter=~is_searching)  # else it takes what Ctrl-R found
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        # In the middle of a statement of several lines, Enter is for editing.
        if buffer.document.on_last_line and is_complete(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.newline(copy_margin=False)

    @keys.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.newline(copy_margin=False)

    return keys
