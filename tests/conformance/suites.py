#!/usr/bin/env python3
"""Run the public orchestration test suites against an endpoint.

Nothing of those suites is kept here; they are installed from the configured
package index into a virtual environment under $HEARTH_CONFORMANCE_CACHE.

Typical use:
    HEARTH_CONFORMANCE_CACHE=/var/tmp/conformance ./run.py --openrc openrc --heat-endpoint http://127.0.0.1:8004/v1 \
        --point-catalog --group api
Exit status: 0 all selected tests passed or were skipped, 1 something failed,
2 set-up trouble.
"""
import argparse
import configparser
import json
import os
import re
import shlex
import subprocess
import sys
import time
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGES = ['python-heatclient', 'python-openstackclient', 'tempest',
            'heat-tempest-plugin', 'stestr', 'python-subunit', 'gabbi',
            'python-zaqarclient', 'python-swiftclient', 'gnocchiclient']
SUITES = {'plugin': 'heat_tempest_plugin',
          'integration': 'heat_integrationtests'}
# word in tests.txt -> catalogue service types that satisfy it
NEEDS = {'none': [], 'keystone': ['identity'], 'nova': ['compute'],
         'neutron': ['network'], 'glance': ['image'],
         'cinder': ['volumev3', 'block-storage', 'volume'],
         'swift': ['object-store'], 'zaqar': ['messaging'],
         'octavia': ['load-balancer'], 'aodh': ['alarming'],
         'gnocchi': ['metric'], 'barbican': ['key-manager'],
         'cfn': ['cloudformation'], 'rabbit': None,
         'multicloud': ['key-manager'], 'manage': []}


def say(msg):
    print('[conformance] ' + msg, file=sys.stderr, flush=True)


def die(msg):
    say('ERROR ' + msg)
    sys.exit(2)


# ---------------------------------------------------------------- credentials
def read_openrc(path):
    env = {}
    with open(path) as f:
        for line in f:
            m = re.match(r'\s*(?:export\s+)?(\w+)=(.*)$', line)
            if m:
                try:
                    parts = shlex.split(m.group(2), comments=True)
                except ValueError:
                    continue
                env[m.group(1)] = parts[0] if parts else ''
    return env


class Cred(object):
    def __init__(self, env, prefix='OS_'):
        def g(name, default=None):
            return env.get(prefix + name) or env.get('OS_' + name) or default
        self.auth_url = (g('AUTH_URL') or '').rstrip('/')
        self.username = g('USERNAME')
        self.password = g('PASSWORD')
        self.project = g('PROJECT_NAME') or g('TENANT_NAME')
        self.user_domain_name = g('USER_DOMAIN_NAME')
        self.user_domain_id = g('USER_DOMAIN_ID')
        self.project_domain_name = g('PROJECT_DOMAIN_NAME')
        self.project_domain_id = g('PROJECT_DOMAIN_ID')
        self.region = g('REGION_NAME', 'RegionOne')
        if not (self.user_domain_name or self.user_domain_id):
            self.user_domain_id = 'default'
        if not (self.project_domain_name or self.project_domain_id):
            self.project_domain_id = 'default'

    def v3(self):
        u = self.auth_url
        return u if u.endswith('/v3') else u + '/v3'


def call(method, url, token=None, body=None, timeout=30):
    req = urllib.request.Request(url, method=method)
    data = None
    if body is not None:
        data = json.dumps(body).encode()
        req.add_header('Content-Type', 'application/json')
    req.add_header('Accept', 'application/json')
    if token:
        req.add_header('X-Auth-Token', token)
    with urllib.request.urlopen(req, data, timeout=timeout) as r:
        raw = r.read()
        return r.headers, (json.loads(raw) if raw else None)


class Keystone(object):
    def __init__(self, cred):
        self.cred = cred
        dom = ({'id': cred.user_domain_id} if cred.user_domain_id
               else {'name': cred.user_domain_name})
        pdom = ({'id': cred.project_domain_id} if cred.project_domain_id
                else {'name': cred.project_domain_name})
        body = {'auth': {
            'identity': {'methods': ['password'], 'password': {'user': {
                'name': cred.username, 'password': cred.password,
                'domain': dom}}},
            'scope': {'project': {'name': cred.project, 'domain': pdom}}}}
        headers, doc = call('POST', cred.v3() + '/auth/tokens', body=body)
        self.token = headers['X-Subject-Token']
        self.info = doc['token']
        self.project_id = self.info['project']['id']

    def url(self, stype, interface='public'):
        for svc in self.info.get('catalog', []):
            if svc['type'] == stype:
                for ep in svc['endpoints']:
                    if ep['interface'] == interface and (
                            ep.get('region') == self.cred.region):
                        return ep['url']
        return None

    def types(self):
        return sorted(s['type'] for s in self.info.get('catalog', [])
                      if s['endpoints'])

    def get(self, stype, path):
        base = self.url(stype)
        if not base:
            return None
        try:
            return call('GET', base.rstrip('/') + path, self.token)[1]
        except (OSError, ValueError) as e:
            say('discovery: GET %s%s: %s' % (stype, path, e))
            return None


def point_catalog(admin, stype, name, wanted):
    """Make the catalogue entry of stype show the wanted URL (admin rights)."""
    base, tok = admin.cred.v3(), admin.token
    svcs = call('GET', base + '/services?type=' + stype, tok)[1]['services']
    if svcs:
        sid = svcs[0]['id']
    else:
        sid = call('POST', base + '/services', tok, {'service': {
            'type': stype, 'name': name, 'enabled': True}})[1]['service']['id']
    eps = call('GET', base + '/endpoints?service_id=' + sid,
               tok)[1]['endpoints']
    before = [{'interface': e['interface'], 'url': e['url']} for e in eps]
    for iface in ('public', 'internal', 'admin'):
        mine = [e for e in eps if e['interface'] == iface and
                e.get('region') == admin.cred.region]
        if mine:
            if mine[0]['url'] != wanted:
                call('PATCH', base + '/endpoints/' + mine[0]['id'], tok,
                     {'endpoint': {'url': wanted}})
        else:
            call('POST', base + '/endpoints', tok, {'endpoint': {
                'service_id': sid, 'interface': iface, 'url': wanted,
                'region': admin.cred.region, 'enabled': True}})
    return before


# ---------------------------------------------------------------- environment
def ensure_venv(cache, latest, suites):
    venv = os.path.join(cache, 'venv')
    py = os.path.join(venv, 'bin', 'python')
    want = {'packages': PACKAGES, 'latest': latest, 'suites': sorted(suites)}
    stamp = os.path.join(venv, 'stamp.json')
    if os.path.exists(stamp):
        with open(stamp) as f:
            have = json.load(f)
        if (have.get('packages') == PACKAGES and
                have.get('latest') == latest and
                set(want['suites']) <= set(have.get('suites', []))):
            return venv, py
    os.makedirs(cache, exist_ok=True)
    if not os.path.exists(py):
        subprocess.check_call([sys.executable, '-m', 'venv', venv])
    pip = [py, '-m', 'pip', 'install', '-q', '--disable-pip-version-check',
           '--cache-dir', os.path.join(cache, 'pip')]
    cons = os.path.join(HERE, 'constraints.txt')
    use = [] if latest or not os.path.exists(cons) else ['-c', cons]
    say('installing %s' % ' '.join(PACKAGES))
    subprocess.check_call(pip + use + PACKAGES)
    if 'integration' in suites:
        # the server package is installed for its bundled test suite only
        subprocess.check_call(pip + use + ['--no-deps', 'openstack-heat'])
        subprocess.check_call(pip + use + ['kombu', 'oslo.messaging',
                                           'testscenarios'])
    with open(stamp, 'w') as f:
        json.dump(want, f)
    return venv, py


def site_dir(py):
    return subprocess.check_output(
        [py, '-c', 'import sysconfig;print(sysconfig.get_path("purelib"))'],
        text=True).strip()


def discover(ks, conf):
    """Fill image/flavor/network names from the cloud, best effort."""
    hp = conf['heat_plugin']
    imgs = (ks.get('image', '/v2/images') or {}).get('images', [])
    imgs.sort(key=lambda i: ('cirros' not in i['name'].lower(), i['name']))
    if imgs:
        hp.setdefault('minimal_image_ref', imgs[0]['name'])
        hp.setdefault('image_ref', imgs[0]['name'])
    fl = (ks.get('compute', '/flavors/detail') or {}).get('flavors', [])
    fl.sort(key=lambda f: (f.get('ram', 0), f.get('disk', 0)))
    if fl:
        hp.setdefault('minimal_instance_type', fl[0]['name'])
        hp.setdefault('instance_type', fl[min(1, len(fl) - 1)]['name'])
    base = ks.url('network')
    if base:
        pre = '' if re.search(r'/v2\.0/?$', base) else '/v2.0'
        nets = (ks.get('network', pre + '/networks') or {}).get('networks', [])
        subs = (ks.get('network', pre + '/subnets') or {}).get('subnets', [])
        ext = [n for n in nets if n.get('router:external')]
        own = [n for n in nets if not n.get('router:external') and
               n.get('subnets')]
        own.sort(key=lambda n: (n['name'] not in ('heat-net', 'private'),
                                n['name']))
        if own:
            hp.setdefault('fixed_network_name', own[0]['name'])
            hp.setdefault('network_for_ssh', own[0]['name'])
            for s in subs:
                if s['network_id'] == own[0]['id']:
                    hp.setdefault('fixed_subnet_name', s['name'])
        if ext:
            hp.setdefault('floating_network_name', ext[0]['name'])


def keep_credential(ks):
    """A secret that opens the same cloud once more; its id."""
    base = ks.url('key-manager')
    if not base:
        return None
    cred = ks.cred
    auth = {'auth_url': cred.v3(), 'username': cred.username, 'password': cred.password,
            'project_name': cred.project}
    for what, name, ident in (('user', cred.user_domain_name, cred.user_domain_id),
                              ('project', cred.project_domain_name, cred.project_domain_id)):
        auth.update({what + '_domain_name': name} if name else {what + '_domain_id': ident})
    payload = json.dumps({'auth_type': 'v3password', 'auth': auth})
    made = call('POST', base.rstrip('/') + '/v1/secrets', ks.token, {
        'name': 'conformance', 'payload': payload, 'payload_content_type': 'text/plain'})[1]
    return made['secret_ref'].rstrip('/').rsplit('/', 1)[1]


def write_conf(path, args, user, admin, ks):
    conf = {'DEFAULT': {'log_dir': os.path.dirname(path),
                        'log_file': 'tempest.log', 'debug': 'true'},
            'oslo_concurrency': {
                'lock_path': os.path.join(os.path.dirname(path), 'locks')},
            'auth': {'admin_username': admin.username or '',
                     'admin_password': admin.password or '',
                     'admin_project_name': admin.project or '',
                     'use_dynamic_credentials': 'false'},
            'identity': {'uri_v3': user.v3() if user.auth_url else '',
                         'region': user.region, 'auth_version': 'v3'},
            'service_available': {'heat': 'true'},
            'heat_features_enabled': {},
            'heat_plugin': {}}
    hp = conf['heat_plugin']
    if user.auth_url:
        hp.update(auth_url=user.v3())
    for k, v in (('username', user.username), ('password', user.password),
                 ('project_name', user.project),
                 ('admin_username', admin.username),
                 ('admin_password', admin.password),
                 ('admin_project_name', admin.project),
                 ('user_domain_name', user.user_domain_name),
                 ('project_domain_name', user.project_domain_name),
                 ('user_domain_id', None if user.user_domain_name
                  else user.user_domain_id),
                 ('project_domain_id', None if user.project_domain_name
                  else user.project_domain_id),
                 ('region', user.region),
                 ('build_timeout', str(args.build_timeout)),
                 ('build_interval', str(args.build_interval)),
                 ('hidden_stack_tag', os.environ.get('HEAT_HIDDEN_TAG'))):
        if v:
            hp[k] = v
    if ks:
        credential = keep_credential(ks)
        if credential:
            hp['credential_secret_id'] = credential
            conf['heat_features_enabled']['multi_cloud'] = 'true'
        types = ks.types()
        for name, stypes in NEEDS.items():
            if stypes and name in ('nova', 'neutron', 'glance', 'cinder',
                                   'swift'):
                conf['service_available'][name] = str(
                    any(t in types for t in stypes)).lower()
        if not args.no_discover:
            discover(ks, conf)
    for item in args.set or []:
        m = re.match(r'([\w-]+)\.([\w-]+)=(.*)$', item)
        if not m:
            die('--set wants group.option=value, got %r' % item)
        conf.setdefault(m.group(1), {})[m.group(2)] = m.group(3)
    cp = configparser.RawConfigParser(default_section='\0')
    for sec, opts in conf.items():
        cp.add_section(sec)
        for k, v in opts.items():
            if v not in (None, ''):
                cp.set(sec, k, str(v).replace('\n', ' '))
    os.makedirs(os.path.join(os.path.dirname(path), 'locks'), exist_ok=True)
    with open(path, 'w') as f:
        cp.write(f)
    os.chmod(path, 0o600)


# ---------------------------------------------------------------------- tests
def read_needs():
    out = {}
    p = os.path.join(HERE, 'tests.txt')
    if os.path.exists(p):
        with open(p) as f:
            for line in f:
                line = line.rstrip('\n')
                if line and not line.startswith('#') and '\t' in line:
                    tid, word = line.split('\t')[:2]
                    out[tid] = word
    return out


def stestr_base(venv, site, suite):
    grp = (r'heat_tempest_plugin\.tests\.api\.test_heat_api\.[a-z]+_'
           r'|([^\.]*\.)*')
    return [os.path.join(venv, 'bin', 'stestr'),
            '--test-path', os.path.join(site, SUITES[suite]),
            '--top-dir', site, '--group_regex', grp]


def run_env(venv, conf_path):
    env = dict(os.environ)
    # `heat-manage` of the server under test stands before the one that the suites bring.
    first = [os.environ['HEAT_COMMANDS']] if 'HEAT_COMMANDS' in os.environ else []
    env['PATH'] = os.pathsep.join(first + [os.path.join(venv, 'bin'), env['PATH']])
    env['TEMPEST_CONFIG_DIR'] = os.path.dirname(conf_path)
    env['TEMPEST_CONFIG'] = os.path.basename(conf_path)
    env.pop('PYTHONPATH', None)
    return env


def list_tests(venv, site, suite, conf_path, cwd):
    env = run_env(venv, conf_path)
    if not os.path.isdir(os.path.join(cwd, '.stestr')):
        subprocess.check_call(stestr_base(venv, site, suite) + ['init'],
                              cwd=cwd, env=env)
    p = subprocess.run(stestr_base(venv, site, suite) + ['list'], cwd=cwd,
                       env=env, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, text=True)
    if p.returncode:
        die('listing failed:\n' + (p.stderr or p.stdout)[-3000:])
    pre = SUITES[suite] + '.'
    return [l for l in p.stdout.splitlines() if l.startswith(pre)]


def group_of(tid):
    if tid.startswith('heat_integrationtests.'):
        return 'integration'
    m = re.match(r'heat_tempest_plugin\.tests\.(\w+)\.', tid)
    return m.group(1) if m else 'other'


def main():
    ap = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    ap.add_argument('--openrc', help='file with export OS_*=... lines')
    ap.add_argument('--admin-openrc', help='same for the admin user '
                    '(default: ADMIN_* variables, else the same user)')
    ap.add_argument('--heat-endpoint', default=os.environ.get('HEAT_ENDPOINT'),
                    help='expected base, e.g. http://h:8004/v1')
    ap.add_argument('--cfn-endpoint', default=os.environ.get('CFN_ENDPOINT'))
    ap.add_argument('--point-catalog', action='store_true',
                    help='create/patch the catalogue entry if it differs')
    ap.add_argument('--suite', choices=['plugin', 'integration', 'both'],
                    default='plugin')
    ap.add_argument('--group', default='all',
                    help='comma list of api,functional,scenario,integration')
    ap.add_argument('--regex', default='.', help='select test ids')
    ap.add_argument('--exclude', help='deselect test ids')
    ap.add_argument('--tests-from', help='file of test ids, one per line')
    ap.add_argument('--no-auto-skip', action='store_true',
                    help='also run tests whose service is not in the catalogue')
    ap.add_argument('--concurrency', type=int, default=1)
    ap.add_argument('--time-limit', type=int, default=0, help='seconds')
    ap.add_argument('--build-timeout', type=int, default=300)
    ap.add_argument('--build-interval', type=int, default=1)
    ap.add_argument('--set', action='append', metavar='GROUP.OPT=VALUE')
    ap.add_argument('--no-discover', action='store_true')
    ap.add_argument('--latest', action='store_true',
                    help='ignore constraints.txt')
    ap.add_argument('--out', default='conformance-out')
    ap.add_argument('--setup-only', action='store_true')
    ap.add_argument('--list', action='store_true')
    args = ap.parse_args()

    suites = ['plugin', 'integration'] if args.suite == 'both' else [args.suite]
    cache = os.environ.get('HEARTH_CONFORMANCE_CACHE') or os.path.expanduser(
        '~/.cache/hearth-conformance')
    cache = os.path.abspath(cache)
    out = os.path.abspath(args.out)
    os.makedirs(out, exist_ok=True)
    venv, py = ensure_venv(cache, args.latest, suites)
    site = site_dir(py)
    with open(os.path.join(out, 'versions.txt'), 'w') as f:
        subprocess.check_call([py, '-m', 'pip', 'freeze', '--all',
                               '--disable-pip-version-check'], stdout=f)
    if args.setup_only:
        say('environment ready')
        return 0

    env = dict(os.environ)
    if args.openrc:
        env.update(read_openrc(args.openrc))
    user = Cred(env)
    if args.admin_openrc:
        admin = Cred(read_openrc(args.admin_openrc))
    else:
        admin = Cred(env, 'ADMIN_')
    ks = None
    if user.auth_url and user.username:
        try:
            ks = Keystone(user)
        except (OSError, ValueError, KeyError) as e:
            if not args.list:
                die('no token from %s: %s' % (user.auth_url, e))
            say('no token (%s); listing only' % e)
            user.auth_url = ''
    elif not args.list:
        die('no credentials: set OS_AUTH_URL, OS_USERNAME, ... or --openrc')

    if ks:
        changed = {}
        for stype, name, want, tail in (
                ('orchestration', 'heat', args.heat_endpoint,
                 '/%(project_id)s'),
                ('cloudformation', 'heat-cfn', args.cfn_endpoint, '')):
            if not want:
                continue
            want = want.rstrip('/')
            shown = ks.url(stype)
            full = want + (tail and '/' + ks.project_id)
            if shown != full:
                if not args.point_catalog:
                    die('catalogue shows %s for %s, expected %s '
                        '(use --point-catalog)' % (shown, stype, full))
                changed[stype] = point_catalog(Keystone(admin), stype, name,
                                               want + tail)
                say('catalogue %s now -> %s' % (stype, want + tail))
        if changed:
            with open(os.path.join(out, 'catalog-before.json'), 'w') as f:
                json.dump(changed, f, indent=1)
            ks = Keystone(user)
        if not args.list and not ks.url('orchestration'):
            die('no orchestration endpoint in the catalogue')

    conf_path = os.path.join(out, 'tempest.conf')
    write_conf(conf_path, args, user, admin, ks)

    needs = read_needs()
    groups = None if args.group == 'all' else set(args.group.split(','))
    only = None
    if args.tests_from:
        with open(args.tests_from) as f:
            only = {l.split('\t')[0].strip() for l in f if l.strip()}
    chosen, omitted = {}, []
    types = ks.types() if ks else []
    for suite in suites:
        cwd = os.path.join(out, suite)
        os.makedirs(cwd, exist_ok=True)
        for tid in list_tests(venv, site, suite, conf_path, cwd):
            if groups and group_of(tid) not in groups:
                continue
            if not re.search(args.regex, tid):
                continue
            if args.exclude and re.search(args.exclude, tid):
                continue
            if only is not None and tid not in only:
                continue
            word = needs.get(tid, 'none')
            stypes = NEEDS.get(word, [])
            if (ks and not args.no_auto_skip and
                    (stypes is None or
                     (stypes and not any(t in types for t in stypes)))):
                omitted.append((tid, 'needs ' + word))
                continue
            chosen.setdefault(suite, []).append(tid)
    if args.list:
        for suite in suites:
            for tid in chosen.get(suite, []):
                print('%s\t%s' % (tid, needs.get(tid, '?')))
        return 0

    streams, rc = [], 0
    for suite in suites:
        ids = chosen.get(suite, [])
        if not ids:
            continue
        cwd = os.path.join(out, suite)
        lst = os.path.join(cwd, 'selected.txt')
        with open(lst, 'w') as f:
            f.write('\n'.join(ids) + '\n')
        cmd = stestr_base(venv, site, suite) + ['run', '--load-list', lst,
                                                '--subunit']
        cmd += (['--serial'] if args.concurrency <= 1
                else ['--concurrency', str(args.concurrency)])
        say('running %d tests of %s' % (len(ids), suite))
        sub = os.path.join(out, suite + '.subunit')
        t0 = time.time()
        with open(sub, 'wb') as f, open(
                os.path.join(out, suite + '.stderr'), 'wb') as e:
            p = subprocess.Popen(cmd, cwd=cwd, env=run_env(venv, conf_path),
                                 stdout=f, stderr=e, start_new_session=True)
            try:
                p.wait(args.time_limit or None)
            except subprocess.TimeoutExpired:
                os.killpg(p.pid, 15)
                try:
                    p.wait(20)
                except subprocess.TimeoutExpired:
                    os.killpg(p.pid, 9)
                    p.wait()
                say('time limit hit, later tests count as not run')
        say('%s took %.0f s' % (suite, time.time() - t0))
        streams.append(sub)
    meta = os.path.join(out, 'selection.json')
    with open(meta, 'w') as f:
        json.dump({'chosen': chosen, 'omitted': omitted}, f, indent=1)
    rc = subprocess.call([py, os.path.join(HERE, 'collect.py'), meta, out]
                         + streams)
    return rc


if __name__ == '__main__':
    sys.exit(main())
