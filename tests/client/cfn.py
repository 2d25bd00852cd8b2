"""Amazon's clients, unmodified, on CloudFormation's API: boto, which signs by version 4 in the
header, and boto3 with the address set. Each makes a stack, looks at it and takes it away."""
import json
import pathlib
import sys
import tempfile
import time

import boto.cloudformation.connection
import boto.exception
import boto.regioninfo
import boto3
import botocore.exceptions

from amazon import expect, key
from processes import Server

WITHIN_SECS = 60
TEMPLATE = json.dumps({
    'AWSTemplateFormatVersion': '2010-09-09',
    'Parameters': {'Text': {'Type': 'String', 'Default': 'blue'}},
    'Resources': {'Said': {'Type': 'OS::Heat::TestResource',
                           'Properties': {'value': {'Ref': 'Text'}}}},
    'Outputs': {'Said': {'Value': {'Fn::GetAtt': ['Said', 'output']}}},
})

# Each resource has two events.
MANY = json.dumps({
    'HeatTemplateFormatVersion': '2012-12-12',
    'Resources': {f'Said{number}': {'Type': 'OS::Heat::TestResource'} for number in range(520)},
})


def until(wanted, look):
    end = time.monotonic() + WITHIN_SECS
    while (seen := look()) != wanted:
        if time.monotonic() > end:
            sys.exit(f'{seen}, and never {wanted}')
        time.sleep(0.1)


def play_boto(port, access, secret):
    region = boto.regioninfo.RegionInfo(name='hearth', endpoint='127.0.0.1')
    client = boto.cloudformation.connection.CloudFormationConnection(
        aws_access_key_id=access, aws_secret_access_key=secret, is_secure=False, port=port,
        path='/v1/', region=region)
    arn = client.create_stack('old', template_body=TEMPLATE, parameters=[('Text', 'green')])
    expect(arn.split('/')[-2], 'old')
    until('CREATE_COMPLETE', lambda: client.describe_stacks('old')[0].stack_status)
    [stack] = client.describe_stacks('old')
    expect([(output.key, output.value) for output in stack.outputs], [('Said', 'green')])
    expect([stack.stack_name for stack in client.list_stacks()], ['old'])
    expect([it.stack_name for it in client.list_stacks(['CREATE_COMPLETE'])], ['old'])
    expect(list(client.list_stacks(['CREATE_FAILED', 'UPDATE_COMPLETE'])), [])
    expect([it.logical_resource_id for it in client.list_stack_resources('old')], ['Said'])
    expect([it.resource_status for it in client.describe_stack_resources('old')],
           ['CREATE_COMPLETE'])
    expect(client.describe_stack_events('old')[0].resource_status, 'CREATE_COMPLETE')
    client.update_stack('old', template_body=TEMPLATE)
    until('UPDATE_COMPLETE', lambda: client.describe_stacks('old')[0].stack_status)
    try:
        client.create_stack('old', template_body=TEMPLATE)
        sys.exit('a name was given twice')
    except boto.exception.BotoServerError as error:
        expect(error.status, 400)
    client.delete_stack('old')
    until([], lambda: [stack.stack_name for stack in client.list_stacks()])


def play_boto3(port, access, secret):
    client = boto3.client(
        'cloudformation', endpoint_url=f'http://127.0.0.1:{port}/v1/', region_name='RegionOne',
        aws_access_key_id=access, aws_secret_access_key=secret)

    def status():
        return client.describe_stacks(StackName='new')['Stacks'][0]['StackStatus']

    client.validate_template(TemplateBody=TEMPLATE)
    client.create_stack(StackName='new', TemplateBody=TEMPLATE, OnFailure='ROLLBACK')
    until('CREATE_COMPLETE', status)
    detail = client.describe_stack_resource(StackName='new', LogicalResourceId='Said')
    expect(detail['StackResourceDetail']['ResourceStatus'], 'CREATE_COMPLETE')
    expect(client.get_template(StackName='new')['ResponseMetadata']['HTTPStatusCode'], 200)
    client.update_stack(StackName='new', TemplateBody=TEMPLATE, Parameters=[
        {'ParameterKey': 'Text', 'ParameterValue': 'red'}])
    until('UPDATE_COMPLETE', status)
    [stack] = client.describe_stacks(StackName='new')['Stacks']
    expect(stack['Outputs'][0]['OutputValue'], 'red')
    try:
        client.describe_stacks(StackName='nobody')
        sys.exit('a stack that is not there was shown')
    except botocore.exceptions.ClientError as error:
        expect(error.response['Error']['Code'], 'InvalidParameterValue')
    client.delete_stack(StackName='new')
    until([], lambda: client.list_stacks()['StackSummaries'])
    [stack, _] = client.list_stacks(StackStatusFilter=['DELETE_COMPLETE'])['StackSummaries']
    expect(stack['StackName'], 'new')
    try:
        client.list_stacks(StackStatusFilter=['GONE'])
        sys.exit('a status that no stack has was looked for')
    except botocore.exceptions.ClientError as error:
        expect(error.response['Error']['Code'], 'ValidationError')
    play_pages(client)


def play_pages(client):
    """Follows the tokens of a list that is longer than a page."""
    client.create_stack(StackName='many', TemplateBody=MANY)
    until('CREATE_COMPLETE',
          lambda: client.describe_stacks(StackName='many')['Stacks'][0]['StackStatus'])
    pages = client.get_paginator('describe_stack_events').paginate(StackName='many')
    pages = [[event['EventId'] for event in page['StackEvents']] for page in pages]
    expect([len(page) for page in pages], [1000, 42])
    expect(len({event for page in pages for event in page}), 1042)
    client.delete_stack(StackName='many')
    until([], lambda: client.list_stacks()['StackSummaries'])


def main(binary):
    with tempfile.TemporaryDirectory() as directory:
        server = Server(binary, pathlib.Path(directory), False)
        try:
            access, secret = key(server.auth_url)
            play_boto(server.cfn_port, access, secret)
            play_boto3(server.cfn_port, access, secret)
        finally:
            server.process.kill()
            server.process.wait()
    print('cfn: boto and boto3 are served')


main(pathlib.Path(sys.argv[1]).resolve())
