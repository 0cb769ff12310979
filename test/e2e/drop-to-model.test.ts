/**
 * The whole of it, through AWS clients only: real images dropped into the bucket become a model, across an interruption.
 * Nothing here knows how the region is made; the same calls go to AWS.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { GetObjectCommand, HeadObjectCommand } from '@aws-sdk/client-s3';
import { bucketKeys, SOURCE_FILE } from '@tidewheel/contract/bucket-keys.ts';
import { type ApiClient, apiClient } from '@tidewheel/emulators/region/api-client.ts';
import { environmentFor } from '@tidewheel/emulators/region/clients.ts';
import { defaultVpc } from '@tidewheel/emulators/region/subnets.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { demoDeclaration, dropDigits, uploadSource } from '../../cli/demo/demo.ts';
import type { AttemptReport, RunReport } from '../../functions/run/attempts/make-report.ts';
import { finishedRun, PROJECT_FOLDER, PYTHON, startTestRegion, type TestRegion } from '../support/region.ts';
import { hearFrom, LISTEN } from './own-rule.ts';
import { HOSTILE, type OpenPage, openPage } from './page-of-region.ts';
import { probed, probedStrategies, RUNS } from './probe.ts';
import { trainedAsSealed } from './sealed-files.ts';

const run = promisify(execFile);

let test: TestRegion;
let api: ApiClient;
let report: RunReport;
let page: OpenPage;
/** By a reader of the page, while it happened. */
let seen: readonly string[];
/** Receives what a rule of a user's own matches. */
let queueUrl: string;
let declaration: string;

beforeAll(async () => {
  // With this seed the first checkpoint in S3 brings the interruption. A later one may come too late on a fast machine.
  test = await startTestRegion('demo:2');
  const { clients, stack } = test.region;
  api = apiClient(test.region);
  const target = { s3: clients.s3, bucket: stack.bucket, projectFolder: PROJECT_FOLDER };
  await uploadSource(target);
  declaration = await demoDeclaration(PROJECT_FOLDER, await defaultVpc(clients.ec2));
  await declare('digits', declaration);
  queueUrl = z.string().parse(await boto3(LISTEN));
  // Its schedule comes due while the digits train.
  await declare('hourly', scheduledDeclaration(declaration));
  page = await openPage(test.region);
  await dropDigits(target, () => undefined);
  [report, seen] = await Promise.all([finishedRun(api, 'digits-000001'), page.watch('digits-000001')]);
}, 540_000);

afterAll(async () => {
  await page?.close();
  await test.stop();
});

async function declare(pipeline: string, text: string): Promise<void> {
  const { status, body } = await api.call('PUT', `/pipelines/${pipeline}`, text);
  if (status !== 200) throw new Error(JSON.stringify(body));
}

const scheduledDeclaration = (digits: string): string =>
  digits
    .replace('name: digits', 'name: hourly')
    .replace('quietSeconds: 4', 'quietSeconds: 1')
    .concat('schedule: rate(1 minute)\n');

/** An unmodified AWS client of another language, which knows only where the region is. */
async function boto3(script: string): Promise<unknown> {
  const { endpoints, credentials } = test.region;
  const { stdout } = await run(PYTHON, ['-c', `import boto3, json\n${script}`], {
    env: { PATH: process.env['PATH'], ...environmentFor(endpoints, credentials) },
  });
  return JSON.parse(stdout);
}

describe('a drop of digits', () => {
  it('trains every attempt with one packed source', async () => {
    const { clients, stack } = test.region;
    const Key = bucketKeys.packedSource('digits', report.source ?? '') + SOURCE_FILE;
    const { Body } = await clients.s3.send(new GetObjectCommand({ Bucket: stack.bucket, Key }));
    const archive = (await Body?.transformToByteArray()) ?? new Uint8Array();
    expect(createHash('sha256').update(archive).digest('hex')).toBe(report.source);
    expect(report.attempts.length).toBeGreaterThan(1);
  });

  it('ends as a model with 97 % accuracy', async () => {
    expect(report).toMatchObject({ status: 'succeeded', deadline: { met: true } });
    expect(report.metrics['accuracy']).toBeGreaterThanOrEqual(0.97);
    const [, bucket = '', key = ''] = /^s3:\/\/([^/]+)\/(.+)$/.exec(report.modelUri ?? '') ?? [];
    const model = await test.region.clients.s3.send(new HeadObjectCommand({ Bucket: bucket, Key: key }));
    expect(model.ContentLength).toBeGreaterThan(1_000);
  });

  it('loses an attempt and resumes elsewhere', () => {
    const [first, second] = report.attempts as [AttemptReport, AttemptReport];
    expect(report.attempts.length).toBeGreaterThanOrEqual(2);
    expect(report.interruptions).toBeGreaterThanOrEqual(1);
    expect(first.outcome).toBe('interrupted');
    expect(second.fromStep).toBeGreaterThan(0);
    expect(second.fromStep).toBe(first.toStep);
    expect(second.toStep).toBeGreaterThan(second.fromStep);
    expect(second.pool.zoneId).not.toBe(first.pool.zoneId);
  });

  it('is seen from the first step to the report', () => {
    expect(seen).toEqual(['training', 'curve', 'lost capacity', 'two attempts', 'end', 'report']);
    expect(page.errors).toEqual([]);
  });

  it('costs less than on demand, over all attempts', () => {
    const paid = report.attempts.reduce((total, { costUsd }) => total + costUsd, 0);
    expect(report.costUsd).toBeCloseTo(paid, 9);
    expect(report.costUsd).toBeLessThan(report.onDemandUsd);
  });

  it('packs every image and rejects other files', async () => {
    const { clients, stack } = test.region;
    const Key = 'digits/dataset/digits-000001/manifest.json';
    const { Body } = await clients.s3.send(new GetObjectCommand({ Bucket: stack.bucket, Key }));
    const manifest: unknown = JSON.parse((await Body?.transformToString()) ?? '');
    expect(JSON.stringify(manifest)).toMatch(/notes\.txt|rejected/);
    expect(manifest).toMatchObject({ samples: 1_797 });
    expect(report.rejected).toMatchObject({ count: 1, byReason: { suffixNotAccepted: 1 } });
    const sealed = report.timeline.find(({ kind }) => kind === 'DatasetSealed');
    expect(sealed?.text).toMatch(/^1797 samples in \d+ shards?, 1 rejected: .*\.txt \(suffixNotAccepted\)$/);
  });

  it('is one run, though every image was an event', async () => {
    const { body } = await api.call('GET', '/pipelines/digits/runs');
    expect(body).toMatchObject({ runs: [{ runId: 'digits-000001', status: 'succeeded', execution: 1 }] });
  });

  it('keeps the placement of every attempt with its table', async () => {
    const { body } = await api.call('GET', '/runs/digits-000001/placements');
    expect(body).toMatchObject({ placements: [{ attempt: 1 }, { attempt: 2 }] });
    expect(JSON.stringify(body)).not.toContain('taskToken');
  });
});

describe('an unmodified boto3', () => {
  it('lists and describes the training jobs', async () => {
    const jobs = await boto3(`
sm = boto3.client('sagemaker')
names = [j['TrainingJobName'] for j in sm.list_training_jobs(SortBy='CreationTime', SortOrder='Ascending')['TrainingJobSummaries']]
first, last = (sm.describe_training_job(TrainingJobName=names[n]) for n in (0, -1))
print(json.dumps({'names': names, 'status': last['TrainingJobStatus'], 'spot': first['EnableManagedSpotTraining'], 'billable': last['BillableTimeInSeconds']}))`);
    expect(jobs).toMatchObject({
      names: report.attempts.map(({ jobName }) => jobName),
      status: 'Completed',
      spot: true,
    });
  });
});

describe("a user's own rule", () => {
  it('hears what happens, each with its versioned detail', async () => {
    const heard = z
      .array(z.tuple([z.string(), z.object({ version: z.number(), runId: z.string() })]))
      .parse(await boto3(hearFrom(queueUrl)));
    // The doctor speaks only where a busy machine makes the steps last a minute.
    const types = heard.map(([type]) => type).filter((type) => type !== 'DoctorVerdict');
    expect(new Set(types)).toEqual(
      new Set(['DatasetSealed', 'AttemptStarted', 'AttemptInterrupted', 'RunFinished']),
    );
    expect(heard.every(([, detail]) => detail.version === 1 && detail.runId === 'digits-000001')).toBe(true);
  });
});

describe('botocore', () => {
  it('starts an empty run through the API', async () => {
    const { stack } = test.region;
    const started = await boto3(`
import urllib.request
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
call = AWSRequest(method='POST', url='${stack.apiUrl}/pipelines/hourly/runs')
SigV4Auth(boto3.Session().get_credentials(), 'execute-api', 'us-east-1').add_auth(call)
reply = urllib.request.urlopen(urllib.request.Request(call.url, method='POST', headers=dict(call.headers.items())))
print(json.dumps({'status': reply.status, **json.loads(reply.read())}))`);
    const { status, runId } = z.object({ status: z.number(), runId: z.string() }).parse(started);
    expect(status).toBe(202);
    expect(await finishedRun(api, runId)).toMatchObject({ status: 'failed' });
  }, 120_000);
});

describe('the API', () => {
  it('refuses a call without a signature', async () => {
    expect((await api.callUnsigned('GET', '/pipelines')).status).toBe(403);
  });

  it('answers a bad declaration with every problem at once', async () => {
    const reply = await api.call(
      'PUT',
      '/pipelines/digits',
      'name: digits\ncompute: {nodes: 0, colour: red}\n',
    );
    expect(reply.status).toBe(400);
    const text = JSON.stringify(reply.body);
    for (const path of ['compute.nodes', 'compute', 'training']) expect(text).toContain(`"path":"${path}"`);
  });
});

describe('a second drop', () => {
  it('packs new data and trains on all', async () => {
    const { clients, stack } = test.region;
    // How well it learns is known by the first drop.
    const shorter = declaration.replace('epochs: 40', 'epochs: 6');
    expect(shorter).not.toBe(declaration);
    await declare('digits', shorter);
    await boto3(`
import base64
s3 = boto3.client('s3')
png = s3.get_object(Bucket='${stack.bucket}', Key='digits/incoming/' + sorted(o['Key'] for o in s3.list_objects_v2(Bucket='${stack.bucket}', Prefix='digits/incoming/')['Contents'])[0][len('digits/incoming/'):])['Body'].read()
for n in range(40):
    s3.put_object(Bucket='${stack.bucket}', Key=f'digits/incoming/7/second-{n}.png', Body=png)
s3.put_object(Bucket='${stack.bucket}', Key=r'digits/incoming/7/${HOSTILE}', Body=b'none')
print(json.dumps(len(png)))`);
    const second = await finishedRun(api, 'digits-000002');
    expect(second).toMatchObject({ status: 'succeeded', generations: ['digits-000001', 'digits-000002'] });
    const Key = 'digits/dataset/digits-000002/manifest.json';
    const { Body } = await clients.s3.send(new GetObjectCommand({ Bucket: stack.bucket, Key }));
    expect(JSON.parse((await Body?.transformToString()) ?? '')).toMatchObject({ samples: 40 });
    expect(await page.data('digits', 'digits-000002')).toContain(HOSTILE);
  }, 400_000);
  it('is probed apart from the runs', async () => expect(await probed(test, api)).toBe(RUNS), 240_000);

  it('is probed under two strategies', async () => {
    const names = ['mpi', 'parameter-server'];
    expect(await probedStrategies(test, api)).toEqual({ names, metric: 'loss' });
  }, 240_000);
});

describe('tables that are not packed', () => {
  it('are trained on as they were sealed', async () => {
    expect(await trainedAsSealed(test, api)).toMatchObject({
      status: 'failed',
      failure: expect.stringContaining('churn-000001 sealed: 1 file (a.csv) changed or were deleted since'),
    });
  }, 300_000);
});

describe('a person', () => {
  it('stops a training run and has it go on', async () => {
    await declare('digits', declaration);
    // Nothing but the person takes its capacity.
    const alone = JSON.stringify({ compute: { purchaseOption: 'on-demand' } });
    const { body } = await api.call('POST', '/pipelines/digits/runs', alone);
    const { runId } = z.object({ runId: z.string() }).parse(body);
    const trains = { run: { status: 'training' }, progress: { step: expect.any(Number) as number } };
    await expect
      .poll(async () => (await api.call('GET', `/runs/${runId}`)).body, { timeout: 120_000, interval: 200 })
      .toMatchObject(trains);
    await page.stop(runId);
    const stopped = await finishedRun(api, runId);
    expect(stopped.status).toBe('stopped');
    const last = stopped.attempts.at(-1);
    expect(last?.outcome).toBe('recalled');
    expect(
      await boto3(`
sm = boto3.client('sagemaker')
print(json.dumps(sm.list_training_jobs(NameContains='${runId}', StatusEquals='InProgress')['TrainingJobSummaries']))`),
    ).toEqual([]);

    await page.retry(runId);
    const done = await finishedRun(api, runId);
    expect(done).toMatchObject({ status: 'succeeded', deadline: { met: true }, retry: { number: 1 } });
    const next = done.attempts[stopped.attempts.length];
    expect(next?.fromStep).toBe(last?.toStep);
    expect(next?.fromStep).toBeGreaterThan(0);
    expect(page.errors).toEqual([]);
  }, 300_000);
});

describe('a schedule', () => {
  it('starts a run, empty without arrivals', async () => {
    const run = { trigger: 'schedule', status: 'empty' };
    await expect
      .poll(async () => (await api.call('GET', '/pipelines/hourly/runs')).body, {
        timeout: 120_000,
        interval: 1_000,
      })
      .toMatchObject({ runs: expect.arrayContaining([expect.objectContaining(run)]) });
  }, 130_000);
});
