#!/usr/bin/env python3
"""Measures offline/retrieval through the finished program, without any code of it.

Asks about identifiers whose definitions this file finds by patterns of its own, about identifiers that do not
exist, and the questions in questions.json, and checks every citation of every answer against the files.

    measure.py --binary target/release/dsh-ls --cache /tmp/trees [--seed 1] [--held only|no|all]

Trees are the sources in cargo's registry folder and npm packages that are fetched into the cache. Exits with 1
when a bar is missed.
"""

import argparse
import fnmatch
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

NPM_PACKAGES = ["three@0.170.0", "re2@1.21.4"]
HERE = Path(__file__).resolve().parent

# What must hold.
IDENTIFIERS_RIGHT = 0.9
PROSE_RIGHT = 0.6
SECONDS = 2.0

NAME = r"([A-Za-z_$][\w$]{3,})"
RUST = [
    r"^\s*(?:pub(?:\([^)]*\))?\s+)?(?:(?:async|unsafe|const|default|extern\s+\"C\")\s+)*(?:fn|struct|enum|trait|type|union|mod|static|const)\s+(?:mut\s+)?" + NAME,
    r"^\s*macro_rules!\s+" + NAME,
]
SCRIPT = [
    r"^\s*(?:export\s+)?(?:default\s+)?(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?(?:function\*?|class|interface|enum|namespace)\s+" + NAME,
    r"^(?:export\s+)?(?:declare\s+)?(?:const|let|var|type)\s+" + NAME + r"\s*[=:<]",
    r"^\t(?:static\s+|async\s+)*" + NAME + r"\([^()]*\)\s*\{$",
]
PYTHON = [r"^\s*(?:async\s+)?(?:def|class)\s+" + NAME]
C = [
    r"^#\s*define\s+" + NAME,
    r"^(?:struct|enum|union|class)\s+" + NAME + r"\s*\{?$",
    r"^[A-Za-z_][\w\s*&:<>,]*?[\s*&]" + NAME + r"\([^;]*$",
]
PATTERNS = {
    "rs": RUST,
    **dict.fromkeys(["js", "mjs", "ts", "jsx", "tsx"], SCRIPT),
    "py": PYTHON,
    **dict.fromkeys(["c", "h", "cc", "cpp", "hpp"], C),
}
NO_NAMES = {
    "return", "else", "while", "switch", "sizeof", "static", "const", "constructor", "function", "class",
    "default", "extends", "catch", "__attribute__", "defined", "_Pragma", "decltype",
}
PHRASINGS = [
    "where is {} defined?",
    "where is {} defined?",
    "where is {} defined?",
    "find the definition of {}",
    "Where does {} live?",
    "which file defines {}?",
    "`{}`?",
    "definition of {}",
    "where's {} implemented",
    "show me {}",
    "what does {} do?",
    "Where can I find the declaration of `{}`?",
]


def source_files(tree):
    for folder, folders, files in os.walk(tree):
        folders[:] = sorted(f for f in folders if f not in (".git", "node_modules") and not f.startswith("."))
        for file in sorted(files):
            yield Path(folder) / file


def definitions(tree):
    """Every name with the places that define it: {name: {(path, line)}}."""
    sites = {}
    for path in source_files(tree):
        patterns = PATTERNS.get(path.suffix[1:])
        if not patterns or ".min." in path.name or path.stat().st_size > 1 << 20:
            continue
        compiled = [re.compile(pattern) for pattern in patterns]
        in_comment = False
        for number, line in enumerate(path.read_text("utf-8", "replace").split("\n"), 1):
            bare = line.strip()
            if in_comment or bare.startswith(("//", "*", "/*")) or len(line) > 300:
                in_comment = "*/" not in bare and (in_comment or bare.startswith("/*"))
                continue
            for pattern in compiled:
                match = pattern.match(line)
                if match and match[1] not in NO_NAMES:
                    sites.setdefault(match[1], set()).add((str(path.relative_to(tree)), number))
                    break
    return sites


def sample(sites, count, dice):
    """Half by name, half by place, so that common names have their share."""
    names = sorted(sites)
    places = [name for name in names for _ in sites[name]]
    chosen = []
    while len(chosen) < min(count, len(names)):
        name = dice.choice(names if len(chosen) % 2 else places)
        if name not in chosen:
            chosen.append(name)
    return chosen


def invented(count, dice, trees):
    syllables = "bra cli dro fex gu hom jat kil lor mip nuv ox pra quil rov sut tev ubb vix wog yal zan".split()
    def word():
        return "".join(dice.choice(syllables) for _ in range(dice.choice([2, 3])))
    shapes = [
        lambda: f"{word()}_{word()}",
        lambda: f"{word().title()}{word().title()}",
        lambda: f"{word()}{word().title()}",
        lambda: f"{word()}_{word()}".upper(),
    ]
    names = []
    while len(names) < count:
        names.append(shapes[len(names) % len(shapes)]())
    pattern = re.compile("|".join(names).encode(), re.IGNORECASE)
    for tree in trees:
        for path in source_files(tree):
            if path.stat().st_size < 4 << 20 and pattern.search(path.read_bytes()):
                raise SystemExit(f"an invented name occurs in {path}; take another seed")
    return names


class Asker:
    def __init__(self, binary, verbose):
        self.binary = binary
        self.verbose = verbose
        self.home = tempfile.mkdtemp(prefix="offline-measure-")
        self.seconds = []
        self.bad_citations = []
        self.citations = 0

    def ask(self, tree, prompt):
        began = time.monotonic()
        command = [self.binary, "run", "--json", "--quiet", "--model", "offline/retrieval", "--home", self.home]
        done = subprocess.run([*command, "--workspace", str(tree), prompt], capture_output=True, text=True)
        seconds = time.monotonic() - began
        self.seconds.append(seconds)
        answer = ""
        for line in done.stdout.splitlines():
            event = json.loads(line)
            if event.get("type") == "assistant/message":
                blocks = event["data"]["message"]["content"]
                answer = "".join(block["text"] for block in blocks if block["type"] == "text")
        if not answer:
            print(f"no answer to {prompt!r}: {done.stderr.strip()[-300:]}")
        cited = self.check(tree, prompt, answer)
        return answer, cited, seconds

    def check(self, tree, prompt, answer):
        """The places that an answer cites; a citation that does not hold is remembered."""
        cited = []
        lines = answer.split("\n")
        for at, line in enumerate(lines):
            for match in re.finditer(r"`([^`]+):(\d+)`(?:: `([^`]*)`)?", line):
                path, number, quote = match[1], int(match[2]), match[3]
                cited.append((path, number))
                quoted = [(number, quote)] if quote is not None else []
                if line.startswith("From ") and at + 1 < len(lines) and lines[at + 1].startswith("```"):
                    fence = re.match("`+", lines[at + 1])[0]
                    for inside in lines[at + 2:]:
                        if inside == fence:
                            break
                        quoted.append((number + len(quoted), inside))
                self.hold(tree, prompt, path, number, quoted)
        return cited

    def hold(self, tree, prompt, path, number, quoted):
        self.citations += 1
        file = Path(tree) / path
        if not file.is_file():
            self.bad_citations.append((prompt, path, number, "no such file"))
            return
        lines = [line.rstrip("\r") for line in file.read_text("utf-8", "replace").split("\n")]
        if number > len(lines):
            self.bad_citations.append((prompt, path, number, "no such line"))
        for at, quote in quoted:
            if at > len(lines) or quote not in lines[at - 1]:
                self.bad_citations.append((prompt, path, at, f"not on the line: {quote!r}"))


def fetch(cache):
    trees = []
    for package in NPM_PACKAGES:
        name = package.split("@")[0]
        folder = Path(cache) / name
        if not folder.is_dir():
            folder.mkdir(parents=True)
            packed = subprocess.run(["npm", "pack", package, "--silent"], cwd=cache, capture_output=True, text=True, check=True)
            archive = packed.stdout.strip().splitlines()[-1]
            subprocess.run(["tar", "xzf", Path(cache) / archive, "-C", folder, "--strip-components=1"], check=True)
        trees.append(folder)
    return trees


def ask_identifiers(asker, trees, arguments, dice):
    right = []
    for tree, count in trees:
        sites = definitions(tree)
        for at, name in enumerate(sample(sites, count, dice)):
            prompt = PHRASINGS[at % len(PHRASINGS)].format(name)
            answer, cited, seconds = asker.ask(tree, prompt)
            good = any(place in sites[name] for place in cited)
            right.append(good)
            if not good or arguments.verbose:
                known = ", ".join(f"{path}:{line}" for path, line in sorted(sites[name])[:3])
                print(f"{'ok  ' if good else 'MISS'} {seconds:5.2f}s {tree.name}: {prompt} (known: {known})")
                if not good:
                    print("     " + answer[:300].replace("\n", "\n     "))
    return right


def ask_invented(asker, trees, arguments, dice):
    right = []
    names = invented(arguments.invented, dice, [tree for tree, _ in trees])
    for at, name in enumerate(names):
        tree = trees[at % len(trees)][0]
        prompt = PHRASINGS[at % len(PHRASINGS)].format(name)
        answer, cited, seconds = asker.ask(tree, prompt)
        good = "not found" in answer and not cited
        right.append(good)
        if not good or arguments.verbose:
            print(f"{'ok  ' if good else 'MISS'} {seconds:5.2f}s {prompt}")
    return right


def ask_prose(asker, roots, arguments):
    right = {False: [], True: []}
    for question in json.loads((HERE / "questions.json").read_text()):
        held = question.get("held", False)
        if {"only": not held, "no": held, "all": False}[arguments.held]:
            continue
        trees = [tree for root in roots for tree in sorted(Path(root).glob(question["tree"])) if tree.is_dir()]
        if not trees:
            print(f"skip {question['tree']}: not here")
            continue
        answer, cited, seconds = asker.ask(trees[-1], question["ask"])
        good = any(fnmatch.fnmatch(path, pattern) for path, _ in cited for pattern in question["paths"])
        right[held].append(good)
        print(f"{'ok  ' if good else 'MISS'} {seconds:5.2f}s {'held ' if held else ''}{trees[-1].name}: {question['ask']}")
        if not good or arguments.verbose:
            for path, line in cited:
                print(f"       {path}:{line}")
    return right


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", default="target/release/dsh-ls")
    parser.add_argument("--cache", required=True, help="folder for fetched packages")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--identifiers", type=int, default=100)
    parser.add_argument("--invented", type=int, default=20)
    parser.add_argument("--held", choices=["only", "no", "all"], default="all")
    parser.add_argument("--tree", action="append", default=[], help="another folder to take identifiers from")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    dice = random.Random(arguments.seed)
    registry = sorted((Path.home() / ".cargo/registry/src").glob("*"))
    fetched = fetch(arguments.cache)
    roots = [*registry, Path(arguments.cache)]
    big = [*registry, *fetched, *map(Path, arguments.tree)]
    shares = [(tree, max(1, round(arguments.identifiers / len(big)))) for tree in big]
    asker = Asker(arguments.binary, arguments.verbose)

    identifiers = ask_identifiers(asker, shares, arguments, dice)
    unknown = ask_invented(asker, shares, arguments, dice)
    prose = ask_prose(asker, roots, arguments)
    for bad in asker.bad_citations:
        print("BAD CITATION", *bad)

    def part(right):
        return f"{sum(right)}/{len(right)}"
    seconds = sorted(asker.seconds)
    both = prose[False] + prose[True]
    print(f"\nidentifiers {part(identifiers)} · invented {part(unknown)} · prose {part(prose[False])}, held out {part(prose[True])}")
    print(f"citations {asker.citations - len(asker.bad_citations)}/{asker.citations}")
    print(f"seconds: median {seconds[len(seconds) // 2]:.2f}, 95 % {seconds[len(seconds) * 95 // 100]:.2f}, most {seconds[-1]:.2f}")
    missed = [
        bar for bar, held in [
            ("identifiers", sum(identifiers) >= IDENTIFIERS_RIGHT * len(identifiers)),
            ("invented names", all(unknown)),
            ("prose", sum(both) >= PROSE_RIGHT * len(both)),
            ("citations", not asker.bad_citations),
            ("seconds", seconds[-1] <= SECONDS),
        ] if not held
    ]
    print("missed: " + ", ".join(missed) if missed else "every bar is met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
