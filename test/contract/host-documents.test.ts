/** The service (TypeScript) and the hosts of an EC2 attempt (Python) talk in two documents: each reads the other's. */

import { execFileSync } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { hostRequests, type Round } from '../../functions/launch/ec2/host-requests.ts';
import { hostReportSchema, jobDocumentSchema } from '../../functions/launch/job/job-document.ts';
import { planOf } from '../support/builders/fleet.ts';
import { generationAt } from '../support/builders/generations.ts';

const PYTHON = join(
  '.venv',
  ...(process.platform === 'win32' ? ['Scripts', 'python.exe'] : ['bin', 'python']),
);

/** Runs a program against the host's own code; the result is JSON. */
function python(program: string, input = ''): unknown {
  const said = execFileSync(PYTHON, ['-c', program], {
    input,
    encoding: 'utf8',
    env: { ...process.env, PYTHONPATH: ['training/agent', 'training/agent/for_scripts'].join(delimiter) },
  });
  return JSON.parse(said);
}

describe('job.json', () => {
  const generations = ['a', 'b'].map((name) => generationAt(`digits/dataset/${name}/shards/`, ['0.tar']));
  const plan = planOf({
    nodes: 4,
    over: { generations, checkpointSeconds: 30, hostLogGroup: '/tidewheel/dev/hosts' },
    training: { strategy: 'ddp' },
  });
  const text = plan.objects.at(-1)?.text ?? '';

  it('is read by the host as it was meant', () => {
    const program = `
import dataclasses, json, sys
from tidewheel_host.container import model_uri, parse_job
job = parse_job(sys.stdin.read())
print(json.dumps({**dataclasses.asdict(job), "model": model_uri(job)}))`;
    expect(python(program, text)).toMatchObject({
      name: plan.name,
      nodes: 4,
      instance_type: 'ml.p4d.24xlarge',
      maximum_run_seconds: 3_600,
      checkpoint_uri: 's3://tw-data/digits/runs/digits-000001/checkpoints/',
      model: `s3://tw-data/digits/runs/digits-000001/models/${plan.name}/output/model.tar.gz`,
      channels: [{ ChannelName: 'train' }, { ChannelName: 'code' }, { ChannelName: 'agent' }],
      hyperparameters: { tidewheel_checkpoint_seconds: '30' },
      environment: { TIDEWHEEL_SPOT: '1' },
      refills: true,
      log_group: '/tidewheel/dev/hosts',
    });
  });

  it('is read back by the service', () => {
    expect(jobDocumentSchema.parse(JSON.parse(text))).toMatchObject({ nodes: 4, TrainingJobName: plan.name });
  });
});

describe('requests to hosts', () => {
  it('is read by them as it was meant', () => {
    const round: Round = {
      round: 2,
      openedAt: '2026-11-21T04:00:00.000Z',
      stay: ['i-1'],
      lost: ['i-2'],
      missing: 1,
      leftSeconds: 600,
    };
    const said = {
      [hostRequests.stop]: '2026-11-21T04:00:00Z',
      [hostRequests.save('i-0a')]: '2026-11-21T04:00:00Z',
      [hostRequests.round(2)]: JSON.stringify(round),
      [hostRequests.members(2)]: JSON.stringify({ round: 2, members: ['i-3', 'i-1'] }),
    };
    const program = `
import json, sys
from tidewheel_host.requests import Requests
said = json.load(sys.stdin)
class Cloud:
    def keys(self, uri, tries): return [k.removeprefix(uri) for k in said]
    def read_if_there(self, uri): return said.get(uri)
seen = Requests(Cloud(), "${hostRequests.stop.replace('stop.json', '')}", print)
seen.refresh()
opened = seen.round(2)
print(json.dumps({"stop": seen.stop, "saves": sorted(seen.saves), "newest": seen.newest_round,
    "stay": opened.stay, "left": opened.seconds_left, "members": seen.members(2), "first": seen.round(1)}))`;
    expect(python(program, JSON.stringify(said))).toEqual({
      stop: true,
      saves: ['i-0a'],
      newest: 2,
      stay: ['i-1'],
      left: 600,
      members: ['i-1', 'i-3'],
      first: null,
    });
  });
});

describe("a host's report", () => {
  const report = (more: string): unknown =>
    python(`
from tidewheel_host.report import Reporter
reporter = Reporter(None, "s3://b/", "i-0a", None, 60)
reporter.change(${more})
print(reporter.text)`);

  const ended = 'ended_at=reporter.report.seen_at';

  it.each([
    ['at the start', '', { instanceId: 'i-0a' }],
    ['at a good end', `${ended}, exit_code=0, model_uri="s3://b/m"`, { exitCode: 0, modelUri: 's3://b/m' }],
    ['after a notice', `${ended}, exit_code=143, stopped_by="spot"`, { stoppedBy: 'spot' }],
    ['after a failure', `${ended}, exit_code=1, failure="ValueError"`, { failure: 'ValueError' }],
  ])('is read by the service %s', (_, program, expected) => {
    expect(hostReportSchema.parse(report(program))).toMatchObject(expected);
  });
});
