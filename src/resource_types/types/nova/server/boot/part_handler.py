#part-handler
import os


def list_types():
    return ['text/x-cfninitdata']


def handle_part(data, ctype, filename, payload):
    if ctype in ('__begin__', '__end__'):
        return
    if isinstance(payload, str):
        payload = payload.encode('utf-8')
    for directory in ('/var/lib/cloud/data', '/var/lib/heat-cfntools'):
        os.makedirs(directory, mode=0o700, exist_ok=True)
        with open(os.path.join(directory, filename), 'wb') as part:
            part.write(payload)
