#!/usr/bin/env python3
"""`ping` for servers of the sandbox, which has no packets: an address answers where the sandbox's
Neutron has a way to it, and its Nova an ACTIVE server behind it.

    ping.py KEYSTONE [OPTION…] ADDRESS
"""
import json
import sys
import urllib.request


def ask(url, token, body=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {'X-Auth-Token': token, 'Content-Type': 'application/json'}
    with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=10) as answer:
        return answer.headers, json.load(answer)


class Cloud:
    """The sandbox as its administrator sees it."""

    def __init__(self, keystone):
        domain = {'name': 'Default'}
        user = {'name': 'admin', 'domain': domain, 'password': 'secret'}
        headers, body = ask(f'{keystone}/v3/auth/tokens', '', {'auth': {
            'identity': {'methods': ['password'], 'password': {'user': user}},
            'scope': {'project': {'name': 'demo', 'domain': domain}}}})
        self.token = headers['X-Subject-Token']
        self.places = {it['type']: it['endpoints'][0]['url'] for it in body['token']['catalog']}

    def get(self, service, path):
        return ask(self.places[service].rstrip('/') + path, self.token)[1]

    def network(self, path):
        return self.get('network', f'/v2.0/{path}')


def lets_in(group):
    """Whether a security group takes an echo request."""
    return any(rule['direction'] == 'ingress' and rule['protocol'] in (None, 'icmp')
               and rule['ethertype'] == 'IPv4' for rule in group['security_group_rules'])


def answers(cloud, address):
    found = cloud.network(f'floatingips?floating_ip_address={address}')['floatingips']
    if not found or not found[0]['port_id'] or not found[0]['router_id']:
        return False
    port = cloud.network(f'ports/{found[0]["port_id"]}')['port']
    router = cloud.network(f'routers/{found[0]["router_id"]}')['router']
    if (router['external_gateway_info'] or {}).get('network_id') != found[0]['floating_network_id']:
        return False
    groups = [cloud.network(f'security-groups/{it}')['security_group']
              for it in port['security_groups']]
    if not any(map(lets_in, groups)):
        return False
    server = cloud.get('compute', f'/servers/{port["device_id"]}')['server']
    return server['status'] == 'ACTIVE'


if __name__ == '__main__':
    sys.exit(0 if answers(Cloud(sys.argv[1]), sys.argv[-1]) else 1)
