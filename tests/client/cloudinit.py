"""What cloud-init does at a first start with the parts of a message: it leaves those that a handler
is among them for to the handler, and runs the boothook before and the scripts after it."""
import email
import pathlib
import subprocess
import sys
import tempfile


def run(part, directory):
    path = directory / part.get_filename()
    path.write_bytes(part.get_payload(decode=True))
    path.chmod(0o700)
    subprocess.run([path], check=True)


def start(message, directory):
    parts = {}
    for part in message.get_payload():
        parts.setdefault(part.get_content_type(), []).append(part)
    for part in parts['text/cloud-boothook']:
        run(part, directory)
    handler = {}
    for part in parts['text/part-handler']:
        exec(part.get_payload(decode=True), handler)
    handler['handle_part'](None, '__begin__', None, None)
    for kind in handler['list_types']():
        for part in parts[kind]:
            handler['handle_part'](None, kind, part.get_filename(), part.get_payload(decode=True))
    handler['handle_part'](None, '__end__', None, None)
    for part in parts['text/x-shellscript']:
        run(part, directory)


with tempfile.TemporaryDirectory() as name:
    start(email.message_from_string(pathlib.Path(sys.argv[1]).read_text()), pathlib.Path(name))
