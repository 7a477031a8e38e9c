"""What people type and paste: is the right document among the first five hits? Beside bm25s in the same run.

``pasted``: messages and command lines, as a terminal shows them, over the manual pages of this machine (sections 1, 2,
5, 7 and 8, as text): 50; 60 others, by which one weight was chosen; and 50 that are held out. A query counts if a page
that documents its command or its message is among the first five; the pages are named with each query. No query may
raise an error or find nothing.

``names``: 50 identifiers over the functions and classes of Python's standard library. The share of the first five hits
that contain the identifier, out of as many as there are.

``stop words``: 179 English stop words, each in one text among other words. Is the text that has it the first hit?

Peer: bm25s with its defaults (English stems; no stop words are left out for ``stop words``).
"""

from __future__ import annotations

import ast
import gzip
import re
import sysconfig
from collections.abc import Callable, Sequence
from pathlib import Path

import bm25s
import Stemmer

from harness import Run, figure, main
from sthash import Collection, Learning

FIRST = 5
PAGES = Path("/usr/share/man")
SECTIONS = ("1", "2", "5", "7", "8")
# Thousands of pages of one program, which other machines do not have.
LEFT_OUT = "gcloud"
LEAST = 0.95

# A message or a command line, and the pages of which one should be found.
PASTED = {
    "tar: Removing leading `/' from member names": "tar",
    "tar -xzf archive.tar.gz -C /tmp": "tar",
    'find . -name "*.pyc" -delete': "find",
    "find / -perm -4000 -type f 2>/dev/null": "find",
    "find . -print0 | xargs -0 rm": "find xargs",
    'grep -rn "TODO" --include=*.py .': "grep git-grep",
    "grep: warning: recursive search of stdin": "grep",
    "ls -la --time-style=+%Y-%m-%d /var/log": "ls",
    "ssh: connect to host example.org port 22: Connection refused": "ssh ssh_config",
    "WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!": "ssh ssh_config ssh-keygen",
    "Permission denied (publickey,password).": "ssh ssh_config sshd_config ssh-copy-id",
    "ssh-keygen -t ed25519 -C user@example.org": "ssh-keygen",
    "git rebase -i HEAD~3": "git-rebase",
    "error: failed to push some refs to 'git@example.org:x.git'": "git-push",
    "! [rejected]        main -> main (non-fast-forward)": "git-push git-fetch",
    "fatal: refusing to merge unrelated histories": "git-merge git-pull",
    "You are in 'detached HEAD' state.": "git-checkout git-switch",
    'CONFLICT (content): Merge conflict in "README.md"': "git-merge git-rerere git-mergetool git-merge-tree git-rebase",
    "curl: (60) SSL certificate problem: self signed certificate": "curl",
    "curl -sSL https://example.org/install.sh | bash": "curl",
    "E: Unable to locate package foo": "apt apt-get apt-cache",
    "dpkg: error: dpkg frontend lock is locked by another process": "dpkg",
    'dpkg -l | grep "^rc"': "dpkg dpkg-query",
    "deb [signed-by=/usr/share/keyrings/x.gpg] http://deb.example.org stable main": "sources.list",
    'systemctl restart "nginx.service"': "systemctl systemd.service systemd.unit",
    "Failed to start foo.service: Unit foo.service not found.": "systemctl systemd.unit systemd.service",
    'journalctl -u ssh.service --since "1 hour ago" -f': "journalctl",
    "mount: /mnt: wrong fs type, bad option, bad superblock on /dev/sdb1": "mount",
    "UUID=0a1b-2c3d /home ext4 defaults,noatime 0 2": "fstab mount ext4",
    "umount: /mnt: target is busy.": "umount",
    "chmod: changing permissions of '/etc/passwd': Operation not permitted": "chmod",
    "chown -R www-data:www-data /var/www": "chown",
    "sed -i 's/foo/bar/g' file.txt": "sed",
    "sed: -e expression #1, char 3: unterminated `s' command": "sed",
    "awk '{ sum += $3 } END { print sum }' data.txt": "mawk gawk awk",
    "xargs: argument line too long": "xargs",
    "sort -t: -k3,3n /etc/passwd": "sort",
    "patch: **** Only garbage was found in the patch input.": "patch git-apply",
    "Hunk #1 FAILED at 12.": "patch git-apply",
    "ps aux --sort=-%mem | head": "ps",
    "kill -9 $(pidof firefox)": "kill pidof killall5 skill pkill killall",
    "useradd: user 'bob' already exists": "useradd adduser",
    "passwd: Authentication token manipulation error": "passwd chpasswd",
    "make: *** No rule to make target 'all'.  Stop.": "make",
    "/usr/bin/ld: cannot find -lfoo": "ld x86_64-linux-gnu-ld ld.gold x86_64-linux-gnu-ld.bfd x86_64-linux-gnu-ld.gold",
    "gpg: no valid OpenPGP data found.": "gpg gpgv",
    "openssl req -x509 -newkey rsa:4096 -nodes -keyout key.pem": "req openssl-req",
    "lsof -i :8080": "lsof",
    "strace -f -e trace=open,close ls": "strace",
    "bind: Address already in use (EADDRINUSE)": "bind ip socket listen",
}
# Others, by which the weight of a program's name was chosen.
OTHERS = {
    "cp: -r not specified; omitting directory 'src'": "cp",
    "cp -a /home/alice/. /mnt/backup/": "cp",
    "mv: cannot move 'a' to 'b': Directory not empty": "mv rename",
    "rm -rf node_modules/": "rm",
    "rm: cannot remove 'x': Is a directory": "rm rmdir unlink",
    "ln -s /usr/share/zoneinfo/UTC /etc/localtime": "ln localtime symlink",
    "rsync -avz --delete src/ user@example.org:/srv/": "rsync",
    "dd if=/dev/zero of=disk.img bs=1M count=100 status=progress": "dd",
    "du -sh * | sort -h": "du",
    "df: no file systems processed": "df",
    'date -d "next friday" +%F': "date",
    "head -c 100 /dev/urandom | base64": "head base64 urandom",
    "tail: cannot watch 'log': No space left on device (inotify)": "tail inotify",
    "cut -d, -f2,3 table.csv": "cut",
    "tr -d '\\r' < dos.txt > unix.txt": "tr",
    "uniq -c | sort -rn | head -20": "uniq sort",
    "diff -u old.c new.c > fix.patch": "diff git-diff patch",
    "Binary files a.bin and b.bin differ": "diff git-diff cmp",
    "git stash pop": "git-stash",
    "git commit --amend --no-edit": "git-commit",
    "fatal: not a git repository (or any of the parent directories): .git": "git git-init git-rev-parse",
    "git log --oneline --graph --all": "git-log",
    "Your branch is ahead of 'origin/main' by 2 commits.": "git-status git-push git-branch",
    "git bisect start HEAD v1.0": "git-bisect",
    "error: Your local changes to these files would be overwritten": "git-checkout git-switch git-stash git-merge",
    "git cherry-pick -x 1a2b3c4": "git-cherry-pick",
    "git clone --depth 1 https://example.org/repo.git": "git-clone",
    "scp -P 2222 file.txt bob@example.org:~/": "scp",
    "sftp> put -r folder": "sftp",
    "Too many authentication failures": "ssh sshd_config ssh_config",
    "ssh -L 8080:localhost:80 -N gateway": "ssh",
    "apt-get install -y --no-install-recommends curl": "apt-get apt",
    "E: Could not get lock /var/lib/dpkg/lock-frontend": "apt apt-get dpkg",
    "dpkg: warning: files list file for package 'x' missing": "dpkg",
    "W: GPG error: http://deb.example.org stable InRelease: NO_PUBKEY 0123456789ABCDEF": "apt-secure apt-key apt",
    "systemctl --user enable --now sync.timer": "systemctl systemd.timer systemd",
    "crontab -e": "crontab",
    "*/5 * * * * /usr/local/bin/job >/dev/null 2>&1": "crontab",
    "su: Authentication failure": "su",
    "chgrp: invalid group: 'devs'": "chgrp",
    "umask 027": "umask bash dash",
    "gzip: stdin: not in gzip format": "gzip zcat",
    "xz: (stdin): File format not recognized": "xz",
    "zip -r site.zip public/ -x '*.map'": "zip",
    "gcc -O2 -Wall -o prog main.c -lm": "gcc x86_64-linux-gnu-gcc x86_64-linux-gnu-gcc-12",
    "objdump -d a.out | less": "objdump x86_64-linux-gnu-objdump",
    "nm: a.out: no symbols": "nm x86_64-linux-gnu-nm",
    "ar rcs libx.a x.o y.o": "ar x86_64-linux-gnu-ar",
    "perl -pe 's/\\t/ /g' -i file": "perl perlrun",
    "openssl s_client -connect example.org:443 -servername example.org": "s_client openssl-s_client",
    "openssl x509 -in cert.pem -noout -text": "x509 openssl-x509",
    "wget: unable to resolve host address 'example.org'": "wget",
    "curl: (6) Could not resolve host: example.org": "curl",
    "nohup ./server &": "nohup",
    "timeout 10s ./slow.sh; echo $?": "timeout",
    "kill: (1234): No such process": "kill",
    "free -h": "free",
    "top - 10:00:00 up 3 days,  load average: 0.15, 0.10, 0.05": "top uptime",
    "tmux attach -t main": "tmux",
    "screen: There is no screen to be resumed.": "screen",
}
# And others, by which nothing was chosen.
HELD_OUT = {
    "mkdir: cannot create directory 'a/b': No such file or directory": "mkdir",
    "mkdir -p build/{debug,release}": "mkdir",
    "touch: cannot touch 'x': Permission denied": "touch",
    "wc -l *.py": "wc",
    "tee: /etc/hosts: Permission denied": "tee hosts",
    "watch -n 2 'df -h'": "watch df",
    "stat -c '%a %n' file": "stat",
    "file: cannot open 'x' (No such file or directory)": "file",
    "md5sum: WARNING: 1 computed checksum did NOT match": "md5sum",
    "sha256sum -c SHA256SUMS": "sha256sum",
    "env -i bash --norc": "env bash",
    "printf '%s\\n' \"$@\"": "printf bash dash",
    "seq 1 10 | paste -sd+": "seq paste",
    "split -b 100M backup.tar part_": "split",
    "basename: missing operand": "basename",
    "realpath --relative-to=. ../x": "realpath",
    "shuf -n 5 names.txt": "shuf",
    "comm -12 a.txt b.txt": "comm",
    "join: file 1 is not in sorted order": "join",
    "nice: cannot set niceness: Permission denied": "nice renice",
    "lsblk -f": "lsblk",
    "mkfs.ext4: No such file or directory while trying to determine filesystem size": "mke2fs mkfs.ext4 mkfs",
    "e2fsck -f /dev/sdb1": "e2fsck fsck",
    "losetup: cannot find an unused loop device": "losetup",
    "swapon: /swapfile: insecure permissions 0644, 0600 suggested.": "swapon",
    "dmesg: read kernel buffer failed: Operation not permitted": "dmesg",
    "hostnamectl set-hostname web1": "hostnamectl hostname",
    "timedatectl set-timezone Europe/Berlin": "timedatectl",
    "loginctl enable-linger alice": "loginctl",
    "git submodule update --init --recursive": "git-submodule",
    "git reset --hard origin/main": "git-reset",
    "git worktree add ../hotfix main": "git-worktree",
    "fatal: bad object HEAD": "git git-fsck git-show gitrevisions git-rev-parse",
    "git blame -L 10,20 main.c": "git-blame",
    "git config --global user.name 'Alice'": "git-config",
    "warning: LF will be replaced by CRLF in a.txt.": "git-config gitattributes",
    "ssh-add: Could not open a connection to your authentication agent.": "ssh-add ssh-agent",
    "ssh-copy-id -i ~/.ssh/id_ed25519.pub bob@example.org": "ssh-copy-id",
    "dpkg-deb: error: 'x.deb' is not a Debian format archive": "dpkg-deb",
    "apt-mark hold linux-image-amd64": "apt-mark",
    "update-alternatives --config editor": "update-alternatives",
    "strip: unable to recognise the format of the input file": "strip x86_64-linux-gnu-strip",
    "readelf -d libx.so | grep NEEDED": "readelf x86_64-linux-gnu-readelf grep",
    "as: unrecognized option '-z'": "as x86_64-linux-gnu-as",
    "cmake -S . -B build -DCMAKE_BUILD_TYPE=Release": "cmake",
    "gdb --args ./prog --flag": "gdb",
    "bzip2: Can't open input file x: No such file or directory.": "bzip2",
    "logrotate -f /etc/logrotate.d/nginx": "logrotate",
    "groupadd: group 'dev' already exists": "groupadd addgroup",
    "visudo: /etc/sudoers.tmp: syntax error near line 5": "visudo sudoers",
}
NAMES = """is_dir os.path.join O_CLOEXEC run_until_complete __init_subclass__ TemporaryDirectory functools.lru_cache
defaultdict OrderedDict ThreadPoolExecutor as_completed asyncio.Queue SO_REUSEADDR getaddrinfo utf_8 surrogateescape
BytesIO NamedTemporaryFile shutil.copytree subprocess.Popen check_output __getattr__ __slots__ StopIteration
KeyboardInterrupt SimpleNamespace MappingProxyType contextlib.suppress ExitStack dataclass_transform field_size_limit
DictWriter HTTPConnection set_cookie urlsplit parse_qs quote_plus ElementTree iterparse getLogger RotatingFileHandler
ArgumentParser add_mutually_exclusive_group setUpClass assertRaisesRegex MagicMock side_effect importlib.metadata
find_spec sys.exc_info"""
STOP_WORDS = """i me my myself we our ours ourselves you you're you've you'll you'd your yours yourself yourselves
he him his himself she she's her hers herself it it's its itself they them their theirs themselves what which who
whom this that that'll these those am is are was were be been being have has had having do does did doing a an the
and but if or because as until while of at by for with about against between into through during before after above
below to from up down in out on off over under again further then once here there when where why how all any both
each few more most other some such no nor not only own same so than too very s t can will just don don't should
should've now d ll m o re ve y ain aren aren't couldn couldn't didn didn't doesn doesn't hadn hadn't hasn hasn't
haven haven't isn isn't ma mightn mightn't mustn mustn't needn needn't shan shan't shouldn shouldn't wasn wasn't
weren weren't won won't wouldn wouldn't"""


def pages() -> dict[str, str]:
    """Read manual pages as plain text, by their names, such as ``tar(1)``."""
    found = dict[str, str]()
    for section in SECTIONS:
        for path in sorted((PAGES / f"man{section}").glob("*")):
            if path.is_symlink() or path.name.startswith(LEFT_OUT) or path.suffix != ".gz":
                continue
            name = path.name.removesuffix(".gz").rpartition(".")[0]
            found[f"{name}({section})"] = plain(gzip.decompress(path.read_bytes()).decode("utf-8", "replace"))
    return found


def plain(source: str) -> str:
    """Take the markup out of a manual page."""
    lines = [line for line in source.splitlines() if not re.match(r"""[.'](\\"|so |de |ig|if |ie |el )""", line)]
    text = re.sub(r"^[.']\s*[A-Za-z]{1,3}\b ?", "", "\n".join(lines), flags=re.MULTILINE)
    text = re.sub(r"\\f(\[\w*\]|\(..|.)|\\[&|^/,:]|\\s[-+]?\d+", "", text)
    text = re.sub(r"\\(-|\(hy)", "-", text)
    text = re.sub(r"\\\(([lr]q|dq|oq|cq|aq)", "'", text)
    return text.replace("\\e", "\\")


def functions() -> dict[str, str]:
    """Read the functions and classes of the standard library, as they are written."""
    found = dict[str, str]()
    folder = Path(sysconfig.get_path("stdlib"))
    for path in sorted(folder.rglob("*.py")):
        inner = path.relative_to(folder)
        if inner.parts[0] in ("test", "site-packages", "idlelib", "lib2to3") or "tests" in inner.parts:
            continue
        source = path.read_text("utf-8", errors="replace")
        try:
            tree = ast.parse(source)
        except SyntaxError:
            continue
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found[f"{inner}:{node.lineno}"] = ast.get_source_segment(source, node) or ""
    return found


def has(name: str) -> Callable[[str], object]:
    """Return what says whether a text contains a name, with nothing of a word before and behind it."""
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)").search


def theirs(texts: Sequence[str], queries: Sequence[str], *, stop_words: bool = True) -> list[list[int]]:
    """Rank by bm25s; return the places of the first five texts of each query."""
    stemmer = Stemmer.Stemmer("english")

    def tokens(given: Sequence[str]) -> object:
        left_out = "en" if stop_words else None
        return bm25s.tokenize(list(given), stopwords=left_out, stemmer=stemmer, show_progress=False)

    retriever = bm25s.BM25()
    retriever.index(tokens(texts), show_progress=False)
    found, scores = retriever.retrieve(tokens(queries), k=min(FIRST, len(texts)), show_progress=False)
    return [
        [int(place) for place, score in zip(*row, strict=True) if score > 0] for row in zip(found, scores, strict=True)
    ]


def ours(texts: Sequence[str], queries: Sequence[str]) -> list[list[int]]:
    """Search one by one, with defaults."""
    documents = [{"key": str(place), "text": text} for place, text in enumerate(texts)]
    with Collection.create(documents, learning=Learning(sample_size=1000)) as collection:
        return [[int(hit.key) for hit in collection.search(query, FIRST)] for query in queries]


def measure_pasted(run: Run) -> None:
    """Measure messages and command lines."""
    made_up = {f"{name}(1)": f"{name} {query}" for query, name in (PASTED | OTHERS | HELD_OUT).items()}
    known = run.choose(pages, lambda: made_up)()
    if not known:
        print("  there are no manual pages on this machine")
        return
    names = [key.rpartition("(")[0] for key in known]
    texts = [f"{key}\n{text}" for key, text in known.items()]
    for part, given in (("first five", PASTED), ("others", OTHERS), ("held out", HELD_OUT)):
        asked = {query: wanted.split() for query, wanted in given.items() if {*wanted.split()} & {*names}}
        mine, peers = ours(texts, list(asked)), theirs(texts, list(asked))
        own, other = (
            [any(names[place] in wanted for place in row) for row, wanted in zip(ranked, asked.values(), strict=True)]
            for ranked in (mine, peers)
        )
        run.add(
            figure(
                part,
                "pasted messages whose page is among the first five",
                sum(own) / len(own),
                "share",
                peer="bm25s",
                theirs=sum(other) / len(other),
                least_ratio=None if run.quick else 1.0,
                setting={"pages": len(texts), "queries": len(asked)},
                details={
                    "without a hit": sum(not row for row in mine),
                    "without a hit, bm25s": sum(not row for row in peers),
                    "only bm25s": [query for query, a, b in zip(asked, own, other, strict=True) if b and not a],
                    "neither": [query for query, a, b in zip(asked, own, other, strict=True) if not (a or b)],
                },
            )
        )


def measure_names(run: Run) -> None:
    """Measure identifiers."""
    known = run.choose(functions, lambda: {name: f"def f(): {name}" for name in NAMES.split()})()
    texts, names = list(known.values()), NAMES.split()
    held = {name: {place for place, text in enumerate(texts) if has(name)(text)} for name in names}
    asked = [name for name in names if held[name]]

    def share(ranked: list[list[int]]) -> dict[str, float]:
        pairs = zip(asked, ranked, strict=True)
        return {name: len({*row} & held[name]) / min(FIRST, len(held[name])) for name, row in pairs}

    own, other = share(ours(texts, asked)), share(theirs(texts, asked))
    run.add(
        figure(
            "names",
            "first five hits that contain the name",
            sum(own.values()) / len(asked),
            "share",
            peer="bm25s",
            theirs=sum(other.values()) / len(asked),
            least_ratio=None if run.quick else 1.0,
            setting={"functions and classes": len(texts), "names": len(asked), "asked for": LEAST},
            details={"below 1": {name: value for name, value in own.items() if value < 1}},
        )
    )


def measure_stop_words(run: Run) -> None:
    """Measure stop words."""
    words = STOP_WORDS.split()
    texts = [f"zebra{place} said {word} quagga{place}" for place, word in enumerate(words)]
    texts += [f"okapi{place} gnu{place} ibis{place}" for place in range(len(words))]

    def right(ranked: list[list[int]]) -> list[str]:
        return [word for word, row in zip(words, ranked, strict=True) if not row or not has(word)(texts[row[0]])]

    missed, theirs_missed = right(ours(texts, words)), right(theirs(texts, words, stop_words=False))
    run.add(
        figure(
            "stop words",
            "stop words whose text is the first hit",
            1 - len(missed) / len(words),
            "share",
            peer="bm25s",
            theirs=1 - len(theirs_missed) / len(words),
            least_ratio=None if run.quick else 1.0,
            setting={"stop words": len(words)},
            details={"missed": missed},
        )
    )


if __name__ == "__main__":
    parts = {"pasted": measure_pasted, "names": measure_names, "stop-words": measure_stop_words}
    main(__file__, __doc__, parts, peers=["bm25s"])
