"""The blocks of a page of the documentation, and what to do with them.

The language of a block says what it is:

  sh            commands, which run on a quick start's machine as they are printed
  sh elsewhere  commands that need another machine, root or other software
  output        what the commands of the block before print
  python        a program; its first line is a comment with the name of its file
  others        files and messages, which no test reads

In an output, a line "..." stands for lines that the page leaves out.
"""

import dataclasses
import pathlib
import re

LEFT_OUT = "..."


@dataclasses.dataclass
class Block:
    language: str
    line: int  # of the opening fence, from 1
    text: list  # of lines


class Page:
    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.lines = self.path.read_text().split("\n")
        self.blocks = list(self._find_blocks())

    def _find_blocks(self):
        opened = None
        for number, line in enumerate(self.lines, 1):
            if not line.lstrip().startswith("```"):
                continue
            if opened is None:
                opened = number
                continue
            first = self.lines[opened - 1]
            if first.startswith(" "):
                raise ValueError(f"{self.path}:{opened}: a block is indented")
            language = first.removeprefix("```").strip()
            if not language:
                raise ValueError(f"{self.path}:{opened}: a block has no language")
            yield Block(language, opened, self.lines[opened:number - 1])
            opened = None

    def output_of(self, block):
        """The block with the output of a block of commands, or None."""
        following = self.blocks.index(block) + 1
        if following == len(self.blocks):
            return None
        candidate = self.blocks[following]
        return candidate if candidate.language == "output" else None

    def replace(self, block, text):
        """Replaces the text of a block, except for the lines that it leaves out."""
        kept = list(text)
        if LEFT_OUT in block.text:
            before = block.text.index(LEFT_OUT)
            after = len(block.text) - before - 1
            if len(text) > before + after:
                kept = text[:before] + [LEFT_OUT] + text[len(text) - after:]
        start = block.line
        growth = len(kept) - len(block.text)
        self.lines[start:start + len(block.text)] = kept
        block.text = kept
        for other in self.blocks:
            if other.line > block.line:
                other.line += growth

    def save(self):
        self.path.write_text("\n".join(self.lines))


def commands_of(block):
    """The commands of a block: lines, joined where they end with a backslash or an
    operator, and with the text of a here-document."""
    commands = []
    is_open = False  # the last command goes on
    end = None  # of its here-document
    for line in block.text:
        if is_open or end is not None:
            commands[-1] += "\n" + line
        elif line.strip() and not line.startswith("#"):
            commands.append(line)
        else:
            continue
        if end is None and (match := re.search(r"<<'?(\w+)", line)):
            end = match[1]
        elif line == end:
            end = None
        is_open = line.endswith(("\\", "|", "&&"))
    return commands
