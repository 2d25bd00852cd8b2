#!/usr/bin/env python3
"""Adds the real Heat's words to resources with wrong values: lines of `wrong_values.py`.

    wrong_values.py 4000 1 | VENV/bin/python heat_words.py > cases.jsonl

Runs with the Python of a virtual environment that has openstack-heat 27.0.1, in its process, without
a service, a database or a cloud. The words are those that a client reads who creates a stack `exam`
whose one resource `r` has the type and the properties, with each type's own checks; null where Heat
takes them; the name of the exception alone where the API keeps its words to itself. Constraints that
ask a cloud hold, and a name is its own id. A line whose check goes on to ask a cloud is left out, with
a word to standard error.
"""

import contextlib
import io
import json
import logging
import os
import sys
import warnings

# The order of sets, by which Heat tells one of several errors.
if os.environ.get('PYTHONHASHSEED') != '0':
    os.environ['PYTHONHASHSEED'] = '0'
    os.execv(sys.executable, [sys.executable] + sys.argv)

warnings.simplefilter('ignore')
logging.disable(logging.CRITICAL)

from oslo_service import backend  # noqa: E402

backend.init_backend(backend.BackendType.THREADING)

from heat.api.middleware import fault  # noqa: E402
from heat.common import config, context, exception, identifier, messaging  # noqa: E402, F401
from heat.engine import clients, resource, resources, service, stack, translation  # noqa: E402
from heat.engine.clients import client_plugin  # noqa: E402
from heat.objects import service as service_objects  # noqa: E402
from keystoneauth1 import session  # noqa: E402
from oslo_config import cfg  # noqa: E402
from oslo_db.sqlalchemy import enginefacade  # noqa: E402
from oslo_log import log as oslo_log  # noqa: E402
from oslo_messaging._drivers import common as rpc_common  # noqa: E402
from webob import exc as webob_exc  # noqa: E402

NAME, PROJECT, NO_ID = 'exam', 'exam-project', '00000000-0000-0000-0000-000000000000'


class CloudAsked(BaseException):
    """A check went on to ask a cloud or the database; nothing in Heat catches this."""


def asks(what):
    def refused(*_, **__):
        raise CloudAsked(what)
    return refused


def set_up():
    etc = os.path.join(sys.prefix, 'etc', 'heat')
    oslo_log.register_options(cfg.CONF)
    cfg.CONF([], project='heat', prog='heat-engine', default_config_files=[], default_config_dirs=[])
    cfg.CONF.set_override('environment_dir', os.path.join(etc, 'environment.d'))
    cfg.CONF.set_override('template_dir', os.path.join(etc, 'templates'))
    messaging.setup('fake://', optional=True)
    clients.OpenStackClients.client = lambda self, name, version=None: asks(name)()
    client_plugin.ClientPlugin.client = lambda self, version=None: asks(type(self).__name__)()
    session.Session.request = asks('Keystone')
    enginefacade._TransactionFactory._start = asks('the database')
    service_objects.Service.active_service_count = classmethod(lambda cls, ctx: 1)
    resource.Resource.is_service_available = classmethod(lambda cls, ctx: (True, None))
    stack.Stack.db_resource_get = lambda self, name: None
    stack.Stack.tags = property(lambda self: [], lambda self, value: None)
    stack.Stack.identifier = lambda self: identifier.HeatIdentifier(
        self.tenant_id, self.name, self.id or NO_ID)
    resources.initialise()
    known = resources.global_env()
    for name, found in list(known.constraints.items()):
        asks_nobody = found.__module__.endswith('.common_constraints') or name == 'zaqar.queue'
        if not asks_nobody or name in ('nova.network', 'test_constr'):
            known.constraints[name] = type(
                found.__name__, (found,), {'validate': lambda self, value, ctx, template=None: True})
    for name, found in list(known.registry._registry.items()):
        if isinstance(getattr(found, 'value', None), str) and found.value.startswith('file:'):
            template = os.path.join(etc, 'templates', os.path.basename(found.value))
            known.registry.register_class(name, 'file://' + template)
    translation.resolve_and_find = lambda value, *_, **__: value

    class Engine(service.EngineService):
        def __init__(self):
            self.resource_enforcer = type('Enforcer', (), {
                'enforce_stack': lambda self, stk, **named: stk.defn.all_resource_types()})()

        def _validate_new_stack(self, cnxt, stack_name, parsed_template):
            self._validate_template(cnxt, parsed_template)

        def _validate_deferred_auth_context(self, cnxt, stk):
            pass
    return Engine()


def told(error):
    """What a client reads: after the way over the bus, and through the API's faults."""
    carried = rpc_common.serialize_remote_exception((type(error), error, error.__traceback__))
    error = rpc_common.deserialize_remote_exception(carried, ['heat.common.exception'])
    if isinstance(error, TypeError):
        error = webob_exc.HTTPBadRequest('The server could not comply with the request since '
                                         'it is either malformed or otherwise incorrect.')
    if isinstance(error, webob_exc.HTTPException):
        error = exception.HTTPExceptionDisguise(error)
    found = fault.FaultWrapper(None)._error(error)
    return found['error'].get('message') or found['error']['type']


def words(engine, type_name, properties):
    """What Heat says of a stack with the resource."""
    who = context.RequestContext.from_dict({
        'tenant_id': PROJECT, 'project_id': PROJECT, 'username': 'exam', 'user_id': 'exam-user',
        'password': '', 'roles': ['member'], 'is_admin': False,
        'auth_url': 'http://keystone.invalid/v3', 'auth_token': 'x'})
    template = {'heat_template_version': '2021-04-16',
                'resources': {'r': {'type': type_name, 'properties': properties}}}
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            engine._parse_template_and_validate_stack(
                who, NAME, template, {}, {}, None, None, {}, convergence=True)
    except Exception as error:
        return told(error)
    return None


def main():
    engine = set_up()
    for line in sys.stdin:
        type_name, properties = json.loads(line)[:2]
        try:
            print(json.dumps([type_name, properties, words(engine, type_name, properties)]), flush=True)
        except CloudAsked as asked:
            print(f'{asked} is asked: {line.strip()}', file=sys.stderr)


if __name__ == '__main__':
    main()
