"""The reference validator, skills-ref, accepts every skill that `npm start` publishes; and a wrong one not."""

import asyncio
import tempfile
from importlib.metadata import version
from pathlib import Path

from skills_ref import validate
from skills_ref.parser import read_properties

from common import check, row

SEED = Path(__file__).parents[3] / "skills"


async def main() -> None:
    async with row("skills-ref", version("skills-ref"), "Agent Skills", "validate and read every seed skill") as note:
        folders = sorted(path.parent for path in SEED.rglob("SKILL.md"))
        check(len(folders) > 0, f"no skill below {SEED}")
        for folder in folders:
            check(validate(folder) == [], f"{folder.name}: {validate(folder)}")
            check(read_properties(folder).name == folder.name, f"{folder.name} has another name")
        with tempfile.TemporaryDirectory() as wrong:
            (Path(wrong) / "SKILL.md").write_text("---\nname: Wrong Name\ndescription: x\n---\n")
            check(validate(Path(wrong)) != [], "it accepts anything")
        note.append(f"{len(folders)} skills")


asyncio.run(main())
