"""Amazon's clients, unmodified, on CloudWatch's API: boto and boto3 each make an alarm, put data for
it, look at both, have the alarm go off and take it away. boto3 does so in each protocol it knows."""
import datetime
import pathlib
import sys
import tempfile
import unittest.mock

import boto.ec2.cloudwatch
import boto.exception
import boto.regioninfo
import boto3
import botocore.exceptions
import botocore.model

from amazon import expect, key
from processes import Server

DAY = datetime.timedelta(days=1)
MINUTE = datetime.timedelta(minutes=1)
NAMESPACE = 'system/linux'


def play_boto(port, access, secret):
    region = boto.regioninfo.RegionInfo(name='heat', endpoint='127.0.0.1')
    client = boto.ec2.cloudwatch.CloudWatchConnection(
        aws_access_key_id=access, aws_secret_access_key=secret, is_secure=False, port=port,
        path='/v1/', region=region)
    alarm = boto.ec2.cloudwatch.MetricAlarm(
        name='old', metric='load', namespace=NAMESPACE, statistic='Average', comparison='>',
        threshold=80, period=60, evaluation_periods=1, description='too hot',
        dimensions={'Group': ['web']}, alarm_actions=['nobody'])
    expect(client.put_metric_alarm(alarm), True)
    [seen] = client.describe_alarms()
    expect((seen.name, seen.comparison, seen.threshold, seen.period, seen.state_value),
           ('old', '>', 80.0, 60, 'NODATA'))
    expect(seen.dimensions, {'Group': ['web']})
    expect(client.put_metric_data(NAMESPACE, 'load', value=[90, 70], unit='Percent',
                                  dimensions={'Group': 'web'}), True)
    [metric] = client.list_metrics(metric_name='load')
    expect((metric.name, metric.namespace, metric.dimensions),
           ('load', NAMESPACE, {'Group': ['web']}))
    now = datetime.datetime.utcnow()
    points = client.get_metric_statistics(
        86_400, now - DAY, now + DAY, 'load', NAMESPACE, ['Average', 'SampleCount'],
        dimensions={'Group': ['web']})
    expect(sum(point['SampleCount'] for point in points), 2.0)
    expect(client.set_alarm_state('old', 'a drill', 'ALARM'), True)
    expect([it.name for it in client.describe_alarms(state_value='ALARM')], ['old'])
    expect([it.name for it in client.describe_alarms_for_metric(
        'load', NAMESPACE, dimensions={'Group': ['web']})], ['old'])
    history = client.describe_alarm_history(alarm_name='old', history_item_type='StateUpdate')
    expect([it.data['reason'] for it in history], ['a drill'])
    expect(client.disable_alarm_actions(['old']), True)
    expect(client.describe_alarms()[0].actions_enabled, 'false')
    expect(client.enable_alarm_actions(['old']), True)
    try:
        client.put_metric_data(NAMESPACE, 'unknown', value=1, unit='Count')
        sys.exit('data that nobody watches were taken')
    except boto.exception.BotoServerError as error:
        expect((error.status, error.error_code), (400, 'InvalidParameterValue'))
    expect(client.delete_alarms(['old']), True)
    expect(list(client.describe_alarms()), [])


def boto3_client(port, access, secret, protocol):
    """A client that speaks a protocol; without one, the one that boto3 chooses."""
    known = (protocol,) if protocol else botocore.model.PRIORITY_ORDERED_SUPPORTED_PROTOCOLS
    with unittest.mock.patch('botocore.model.PRIORITY_ORDERED_SUPPORTED_PROTOCOLS', known):
        client = boto3.Session().client(
            'cloudwatch', endpoint_url=f'http://127.0.0.1:{port}/v1/', region_name='RegionOne',
            aws_access_key_id=access, aws_secret_access_key=secret)
    expect(client.meta.service_model.resolved_protocol, protocol or 'json')
    return client


def play_boto3(client):
    dimensions = [{'Name': 'Group', 'Value': 'web'}]
    client.put_metric_alarm(
        AlarmName='new', MetricName='load', Namespace=NAMESPACE, Statistic='Maximum', Period=60,
        EvaluationPeriods=2, DatapointsToAlarm=2, TreatMissingData='missing', Threshold=80.5,
        ComparisonOperator='GreaterThanOrEqualToThreshold', Dimensions=dimensions,
        ActionsEnabled=False)
    play_unsupported(client)
    [seen] = client.describe_alarms(AlarmNames=['new'])['MetricAlarms']
    expect((seen['AlarmName'], seen['Threshold'], seen['EvaluationPeriods'],
            seen['ActionsEnabled'], seen['StateValue'], seen['Dimensions']),
           ('new', 80.5, 2, False, 'NODATA', dimensions))
    age = datetime.datetime.now(datetime.timezone.utc) - seen['StateUpdatedTimestamp']
    expect(abs(age) < MINUTE, True)
    client.put_metric_data(Namespace=NAMESPACE, MetricData=[
        {'MetricName': 'load', 'Dimensions': dimensions, 'Value': value, 'Unit': 'Percent'}
        for value in (90.5, 70)])
    [metric] = client.list_metrics(Namespace=NAMESPACE)['Metrics']
    expect((metric['MetricName'], metric['Dimensions']), ('load', dimensions))
    now = datetime.datetime.now(datetime.timezone.utc)
    client.put_metric_data(Namespace=NAMESPACE, MetricData=[{
        'MetricName': 'load', 'Dimensions': dimensions, 'Unit': 'Percent', 'Timestamp': now,
        'StatisticValues': {'SampleCount': 2, 'Sum': 90, 'Minimum': 30, 'Maximum': 60}}])
    client.put_metric_data(Namespace=NAMESPACE, MetricData=[{
        'MetricName': 'load', 'Dimensions': dimensions, 'Unit': 'Percent', 'Timestamp': now,
        'Values': [20, 40.5], 'Counts': [3, 1]}])
    points = client.get_metric_statistics(
        Namespace=NAMESPACE, MetricName='load', Dimensions=dimensions, StartTime=now - DAY,
        EndTime=now + DAY, Period=86_400, Statistics=['Maximum', 'Minimum'])['Datapoints']
    expect((points[-1]['Maximum'], points[-1]['Unit']), (90.5, 'Percent'))
    expect(min(point['Minimum'] for point in points), 20)
    expect(abs(now - points[-1]['Timestamp']) < DAY, True)
    play_compressed(client)
    client.set_alarm_state(AlarmName='new', StateValue='ALARM', StateReason='a drill')
    [seen] = client.describe_alarms(StateValue='ALARM')['MetricAlarms']
    expect(seen['StateReason'], 'a drill')
    history = client.describe_alarm_history(AlarmName='new')['AlarmHistoryItems']
    expect([it['HistoryItemType'] for it in history], ['StateUpdate', 'ConfigurationUpdate'])
    client.enable_alarm_actions(AlarmNames=['new'])
    [seen] = client.describe_alarms_for_metric(
        MetricName='load', Namespace=NAMESPACE, Dimensions=dimensions)['MetricAlarms']
    expect(seen['ActionsEnabled'], True)
    client.disable_alarm_actions(AlarmNames=['new'])
    for number in range(3):
        client.put_metric_alarm(
            AlarmName=f'more-{number}', MetricName='load', Namespace=NAMESPACE, Statistic='Sum',
            Period=60, EvaluationPeriods=1, Threshold=1, ComparisonOperator='LessThanThreshold')
    pages = client.get_paginator('describe_alarms').paginate(PaginationConfig={'PageSize': 2})
    names = [it['AlarmName'] for page in pages for it in page['MetricAlarms']]
    expect(names, ['more-0', 'more-1', 'more-2', 'new'])
    try:
        client.set_alarm_state(AlarmName='nobody', StateValue='OK', StateReason='')
        sys.exit('an alarm that is not there went off')
    except botocore.exceptions.ClientError as error:
        expect(error.response['Error']['Code'], 'InvalidParameterValue')
    try:
        client.put_metric_data(
            Namespace=NAMESPACE, MetricData=[{'MetricName': 'unknown', 'Value': float('inf')}])
        sys.exit('a number that is none was taken')
    except client.exceptions.InvalidParameterValueException as error:
        expect(error.response['ResponseMetadata']['HTTPStatusCode'], 400)
    try:
        client.list_dashboards()
        sys.exit('there are dashboards')
    except botocore.exceptions.ClientError as error:
        expect(error.response['Error']['Code'], 'InvalidAction')
    client.delete_alarms(AlarmNames=names)
    expect(client.describe_alarms()['MetricAlarms'], [])


def play_unsupported(client):
    """Asks for alarms that would behave otherwise, none of which is made."""
    for asked in ({'TreatMissingData': 'notBreaching'}, {'DatapointsToAlarm': 1},
                  {'ExtendedStatistic': 'p90'}, {'Tags': [{'Key': 'team', 'Value': 'web'}]},
                  {'Metrics': [{'Id': 'm1', 'Expression': 'm2 * 2'}]}):
        try:
            client.put_metric_alarm(
                AlarmName='other', MetricName='load', Namespace=NAMESPACE, Statistic='Maximum',
                Period=60, EvaluationPeriods=2, Threshold=1,
                ComparisonOperator='LessThanThreshold', **asked)
            sys.exit(f'an alarm was made without {asked}')
        except botocore.exceptions.ClientError as error:
            expect(error.response['Error']['Code'], 'InvalidParameterValue')
            [name] = asked
            expect(name in error.response['Error']['Message'], True)


def play_compressed(client):
    """Puts so many data that the client compresses them."""
    dimensions = [{'Name': f'{number}', 'Value': 'x' * 200} for number in range(5)]
    client.put_metric_alarm(
        AlarmName='wide', MetricName='load', Namespace=NAMESPACE, Statistic='Sum', Period=60,
        EvaluationPeriods=1, Threshold=1, ComparisonOperator='LessThanThreshold',
        Dimensions=dimensions)
    encodings = []
    client.meta.events.register_first(
        'before-send', lambda request, **_: encodings.append(request.headers['Content-Encoding']),
        unique_id='encodings')
    client.put_metric_data(Namespace=NAMESPACE, MetricData=[
        {'MetricName': 'load', 'Dimensions': dimensions, 'Value': 1} for _ in range(20)])
    client.meta.events.unregister('before-send', unique_id='encodings')
    expect(encodings, [b'gzip'])
    client.delete_alarms(AlarmNames=['wide'])


def main(binary):
    with tempfile.TemporaryDirectory() as directory:
        server = Server(binary, pathlib.Path(directory), False)
        try:
            access, secret = key(server.auth_url)
            play_boto(server.watch_port, access, secret)
            for protocol in (None, 'smithy-rpc-v2-cbor', 'query'):
                play_boto3(boto3_client(server.watch_port, access, secret, protocol))
        finally:
            server.process.kill()
            server.process.wait()
    print('watch: boto and boto3 are served, in the query protocol, JSON and CBOR')


main(pathlib.Path(sys.argv[1]).resolve())
