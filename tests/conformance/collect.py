"""Turn subunit v2 streams into results.json, results.txt, junit.xml and a table.

Runs inside its virtual environment (needs python-subunit, testtools).
usage: collect.py selection.json OUTDIR STREAM...
"""
import collections
import json
import os
import re
import sys
from xml.sax import saxutils

import subunit
import testtools

BAD = re.compile('[^\t\n\r\x20-\ud7ff\ue000-\ufffd]')


def group_of(tid):
    if tid.startswith('heat_integrationtests.'):
        return 'integration'
    m = re.match(r'heat_tempest_plugin\.tests\.(\w+)\.', tid)
    return m.group(1) if m else 'other'


def load(path, res):
    def got(test):
        tid, status = test['id'], test['status']
        if not tid or status in (None, 'exists', 'inprogress'):
            if status != 'inprogress' or not tid:
                return
            status = 'not-run'      # started, never finished
        t0, t1 = (test['timestamps'] + [None, None])[:2]
        dur = (t1 - t0).total_seconds() if t0 and t1 else 0.0
        text = []
        for name, det in sorted(test['details'].items()):
            if det.content_type.type == 'text':
                text.append('--- %s\n%s' % (name, det.as_text()))
        if status == 'fail' and re.match(r'(setUpClass|tearDownClass|process)',
                                         tid):
            tid = 'other.' + tid
        res[tid] = {'status': {'success': 'passed', 'fail': 'failed',
                               'skip': 'skipped', 'xfail': 'passed',
                               'uxsuccess': 'failed'}.get(status, status),
                    'seconds': round(dur, 3),
                    'detail': BAD.sub('?', '\n'.join(text))}
    target = testtools.StreamToDict(got)
    target.startTestRun()
    with open(path, 'rb') as f:
        try:
            subunit.ByteStreamToStreamResult(
                f, non_subunit_name='stdout').run(target)
        finally:
            target.stopTestRun()


def main():
    meta, out, streams = sys.argv[1], sys.argv[2], sys.argv[3:]
    with open(meta) as f:
        sel = json.load(f)
    res = {}
    for s in streams:
        load(s, res)
    expanded = {k.partition('(')[0] for k in res if '(' in k}
    for ids in sel['chosen'].values():
        for tid in ids:
            if tid in expanded and tid not in res:
                continue            # one listed id, several scenario results
            res.setdefault(tid, {'status': 'not-run', 'seconds': 0.0,
                                 'detail': 'no result in the stream'})
    for tid, why in sel['omitted']:
        res.setdefault(tid, {'status': 'skipped', 'seconds': 0.0,
                             'detail': 'left out: ' + why})
    rows = sorted(res.items())
    with open(os.path.join(out, 'results.json'), 'w') as f:
        json.dump({k: v for k, v in rows}, f, indent=1)
    with open(os.path.join(out, 'results.txt'), 'w') as f:
        for tid, r in rows:
            f.write('%-8s %8.2f %s\n' % (r['status'], r['seconds'], tid))
    cnt = collections.defaultdict(collections.Counter)
    for tid, r in rows:
        cnt[group_of(tid)][r['status']] += 1
    with open(os.path.join(out, 'junit.xml'), 'w', encoding='utf-8') as f:
        tot = collections.Counter(r['status'] for _, r in rows)
        f.write('<?xml version="1.0" encoding="UTF-8"?>\n')
        f.write('<testsuite name="conformance" tests="%d" failures="%d" '
                'skipped="%d" errors="%d" time="%.3f">\n' % (
                    len(rows), tot['failed'], tot['skipped'], tot['not-run'],
                    sum(r['seconds'] for _, r in rows)))
        for tid, r in rows:
            cls, _, name = tid.rpartition('.')
            f.write('<testcase classname=%s name=%s time="%.3f">' % (
                saxutils.quoteattr(cls), saxutils.quoteattr(name),
                r['seconds']))
            body = saxutils.escape(r['detail'][-20000:])
            if r['status'] == 'failed':
                f.write('<failure message="failed">%s</failure>' % body)
            elif r['status'] == 'skipped':
                f.write('<skipped message=%s/>' % saxutils.quoteattr(
                    r['detail'].replace('\n', ' ')[:300]))
            elif r['status'] == 'not-run':
                f.write('<error message="not run"/>')
            f.write('</testcase>\n')
        f.write('</testsuite>\n')
    cols = ('passed', 'failed', 'skipped', 'not-run')
    line = '%-12s' + '%9s' * (len(cols) + 1)
    print()
    print(line % (('group',) + cols + ('total',)))
    total = collections.Counter()
    for g in sorted(cnt):
        c = cnt[g]
        total.update(c)
        print(line % ((g,) + tuple(c[k] for k in cols) + (sum(c.values()),)))
    print(line % (('TOTAL',) + tuple(total[k] for k in cols)
                  + (sum(total.values()),)))
    for tid, r in rows:
        if r['status'] in ('failed', 'not-run'):
            print('  %-7s %s' % (r['status'], tid))
    return 1 if total['failed'] or total['not-run'] else 0


if __name__ == '__main__':
    sys.exit(main())
