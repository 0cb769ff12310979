/**
 * The whole of it, through AWS clients only: real images dropped into the bucket become a model, across an interruption.
 * Nothing here knows how the region is made; the same calls go to AWS.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { GetObjectCommand, HeadObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { bucketKeys, SOURCE_FILE } from '@tidewheel/contract/bucket-keys.ts';
import { type ApiClient, apiClient } from '@tidewheel/emulators/region/api-client.ts';
import { environmentFor } from '@tidewheel/emulators/region/clients.ts';
import { defaultVpc } from '@tidewheel/emulators/region/subnets.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { demoDeclaration, dropDigits, uploadSource } from '../../cli/demo/demo.ts';
import { STEPS } from '../../cli/first-day/steps.ts';
import type { AttemptReport, RunReport } from '../../functions/run/attempts/make-report.ts';
import { finishedRun, PROJECT_FOLDER, PYTHON, startTestRegion, type TestRegion } from '../support/region.ts';
import { FIRST_DAY_REPORT, playShort } from './first-day.ts';
import { hearFrom, LISTEN } from './own-rule.ts';
import { HOSTILE, type OpenPage, openPage } from './page-of-region.ts';
import { probed, probedStrategies, RUNS } from './probe.ts';
import { GOT, putTyped, TYPED } from './typed.ts';

const run = promisify(execFile);

let test: TestRegion;
let api: ApiClient;
let report: RunReport;
let page: OpenPage;
/** By a reader of the page, while it happened. */
let seen: readonly string[];
/** Receives what a rule of a user's own matches. */
let queueUrl: string;

beforeAll(async () => {
  // With this seed the first checkpoint in S3 brings the interruption. A later one may come too late on a fast machine.
  test = await startTestRegion('demo:2');
  const { clients, stack } = test.region;
  api = apiClient(test.region);
  const target = { s3: clients.s3, bucket: stack.bucket, projectFolder: PROJECT_FOLDER };
  await uploadSource(target);
  const declaration = await demoDeclaration(PROJECT_FOLDER, await defaultVpc(clients.ec2));
  const declared = await api.call('PUT', '/pipelines/digits', declaration);
  if (declared.status !== 200) throw new Error(JSON.stringify(declared.body));
  queueUrl = z.string().parse(await boto3(LISTEN));
  // Its schedule comes due while the digits train.
  await api.call('PUT', '/pipelines/hourly', scheduledDeclaration(declaration));
  page = await openPage(test.region);
  await dropDigits(target, () => undefined);
  [report, seen] = await Promise.all([finishedRun(api, 'digits-000001'), page.watch('digits-000001')]);
}, 540_000);

afterAll(async () => {
  await page?.close();
  await test.stop();
});

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

describe('a person', () => {
  it('stops a training run and has it go on', async () => {
    const { body } = await api.call('POST', '/pipelines/digits/runs');
    const { runId } = z.object({ runId: z.string() }).parse(body);
    const trains = { run: { status: 'training' }, progress: { step: expect.any(Number) as number } };
    await expect
      .poll(async () => (await api.call('GET', `/runs/${runId}`)).body, { timeout: 120_000, interval: 200 })
      .toMatchObject(trains);
    await page.stop(runId);
    const stopped = await finishedRun(api, runId);
    expect(stopped.status).toBe('stopped');
    const last = stopped.attempts.at(-1);
    // The market may have taken its capacity at the same moment.
    expect(['recalled', 'interrupted']).toContain(last?.outcome);
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

describe('a script that starts as typed', () => {
  it('gets its arguments, and later its checkpoint', async () => {
    const { clients, stack, endpoints, credentials } = test.region;
    const digits = await demoDeclaration(PROJECT_FOLDER, await defaultVpc(clients.ec2));
    const declared = await api.call(
      'PUT',
      `/pipelines/${TYPED}`,
      await putTyped(clients.s3, stack.bucket, digits),
    );
    expect(declared).toMatchObject({ status: 200 });
    await api.call('POST', `/pipelines/${TYPED}/runs`);
    const { status, attempts } = await finishedRun(api, `${TYPED}-000001`);
    expect({ status, attempts: attempts.map(({ outcome }) => outcome) }).toEqual({
      status: 'succeeded',
      attempts: ['interrupted', 'completed'],
    });

    const environment = { ...environmentFor(endpoints, credentials), TIDEWHEEL_TABLE: stack.table };
    const env = { PATH: process.env['PATH'], ...environment };
    const { stdout } = await run(process.execPath, ['cli/tidewheel.ts', 'logs', `${TYPED}-000001`], {
      cwd: PROJECT_FOLDER,
      env,
    });
    expect(stdout.match(/^── attempt \d(?: ended \(\w+\)| completed)?/gm)).toEqual([
      '── attempt 1',
      '── attempt 1 ended (interrupted)',
      '── attempt 2',
      '── attempt 2 completed',
    ]);
    const got = [...stdout.matchAll(/^\S+ GOT (.+)$/gm)].map(([, json = '']): unknown => JSON.parse(json));
    expect(got).toEqual(GOT);
  }, 240_000);
});

describe('small drops', () => {
  it('are joined into one generation after sealing', async () => {
    const { clients, stack } = test.region;
    const put = (Key: string, Body: string | Uint8Array) =>
      clients.s3.send(new PutObjectCommand({ Bucket: stack.bucket, Key, Body }));
    const declaration = await demoDeclaration(PROJECT_FOLDER, await defaultVpc(clients.ec2));
    // Nothing is to be trained: no attempt is as cheap as that.
    const crumbs = declaration
      .replace('name: digits', 'name: crumbs')
      .replace('quietSeconds: 4', 'quietSeconds: 1')
      .replace('budgetUsd: 5', 'budgetUsd: 0.000001')
      .replace('tuning:', 'tuning:\n  dataset: { compactAfter: 2 }');
    await put('pipelines/crumbs.yaml', crumbs);
    let last: RunReport | undefined;
    for (const batch of [1, 2]) {
      for (const index of [1, 2, 3])
        await put(
          `crumbs/incoming/${index}/${batch}.png`,
          Buffer.concat([PNG, Buffer.from(`${batch}${index}`)]),
        );
      last = await finishedRun(api, `crumbs-00000${batch}`);
    }
    const compacted = last?.timeline.find(({ kind }) => kind === 'DatasetCompacted');
    expect(compacted?.text).toMatch(
      /^2 generations joined into crumbs-000002-c[0-9a-f]{8}: 6 samples in 1 shard$/,
    );
    const Key = 'crumbs/dataset/versions/00000003.json';
    const { Body } = await clients.s3.send(new GetObjectCommand({ Bucket: stack.bucket, Key }));
    const version = JSON.parse((await Body?.transformToString()) ?? '') as { generations: string[] };
    expect(version).toMatchObject({
      change: { kind: 'compacted', replaced: ['crumbs-000001', 'crumbs-000002'] },
      generations: [expect.stringMatching(/^crumbs-000002-c/) as string],
    });
  }, 240_000);
});

/** As far as packing looks into an image. */
const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

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

describe('the first day', () => {
  it('is played and reported', async () => {
    const { endpoints, credentials, stack } = test.region;
    const environment = environmentFor(endpoints, credentials);
    const folder = await mkdtemp(join(tmpdir(), 'first-day-'));
    const words = 'check --trial --yes --only 1,3,5,6,7,8,9'.split(' ');
    const command = ['cli/tidewheel.ts', ...words, '--folder', folder];
    const options = { cwd: PROJECT_FOLDER, env: { PATH: process.env['PATH'], ...environment } };
    try {
      const [{ stdout }, short] = await Promise.all([
        run(process.execPath, command, options),
        playShort(environment),
      ]);
      expect(stdout).toContain(`report: ${join(folder, 'report.md')}`);
      const found = await readFile(join(folder, 'report.json'), 'utf8');
      const { results } = FIRST_DAY_REPORT.parse(JSON.parse(found));
      expect(results.map(({ number, outcome }) => [number, outcome])).toEqual([
        [1, 'asExpected'],
        [3, 'notPossibleHere'],
        [5, 'notPossibleHere'],
        [6, 'notPossibleHere'],
        [7, 'byHand'],
        [8, 'asExpected'],
        [9, 'byHand'],
      ]);
      const report = await readFile(join(folder, 'report.md'), 'utf8');
      expect(report.match(/^\| \d\. /gm)).toHaveLength(STEPS.length);
      expect(report).not.toContain(stack.bucket);
      expect(short.lines[0]).toContain('samples sealed: 20, attempts: 1, interruptions: 0');
      expect(short).toMatchObject({ number: 2, outcome: 'asExpected' });
      const kept = join(folder, 'results.json');
      await writeFile(kept, (await readFile(kept, 'utf8')).replace('"stage": "dev"', '"stage": "other"'));
      const refused = {
        code: 8,
        stderr: expect.stringMatching(/^✗ --folder is ".+stage other in us-east-1/m),
      };
      await expect(run(process.execPath, command, options)).rejects.toMatchObject(refused);
    } finally {
      await rm(folder, { recursive: true });
    }
  }, 180_000);
});

describe('a declaration that cannot be used', () => {
  it('fails its run and keeps the data', async () => {
    const { clients, stack } = test.region;
    const put = (Key: string, Body: string) =>
      clients.s3.send(new PutObjectCommand({ Bucket: stack.bucket, Key, Body }));
    await put('pipelines/broken.yaml', 'name: broken\nsettle: {quietSeconds: 1}\n');
    await put('broken/incoming/a.txt', 'data');
    const failed = await finishedRun(api, 'broken-000001');
    expect(failed).toMatchObject({ status: 'failed' });
    expect(failed.failure).toMatch(/training/);
  }, 120_000);
});
