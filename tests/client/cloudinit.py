"""What cloud-init does at a first start with the parts of a message: it leaves those that a handler
is among them for to the handler, and runs the boothook before and the scripts after it."""
import email
import pathlib
import subprocess
import sys
import tempfile


def text(part):
    """The message was read as text, so that the bytes of a part that is not in ASCII are others."""
    return part.get_payload(decode=True).decode('utf-8', 'surrogateescape')


def run(part, directory):
    path = directory / part.get_filename()
    path.write_text(text(part), encoding='utf-8')
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
        exec(text(part), handler)
    handler['handle_part'](None, '__begin__', None, None)
    for kind in handler['list_types']():
        for part in parts[kind]:
            handler['handle_part'](None, kind, part.get_filename(), text(part))
    handler['handle_part'](None, '__end__', None, None)
    for part in parts['text/x-shellscript']:
        run(part, directory)


with tempfile.TemporaryDirectory() as name:
    message = pathlib.Path(sys.argv[1]).read_text(encoding='utf-8')
    start(email.message_from_string(message), pathlib.Path(name))
