/** The page in a real browser, over the API's own answers. */

import { readFile } from 'node:fs/promises';
import { bucketKeys, s3Uri } from '@tidewheel/contract/bucket-keys.ts';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { buildPage } from '../../../cli/page/page-files.ts';
import { type ServedPage, servePage } from '../../../cli/page/page-server.ts';
import { recordModel } from '../../../functions/run/models/decide-models.ts';
import { startBrowser, type TestBrowser } from '../../support/browser.ts';
import { packAll, settings } from '../../support/builders/packing.ts';
import { question } from '../../support/builders/placement.ts';
import {
  AT,
  attemptOf,
  declarationOf,
  outcomeOf,
  progressOf,
  runOf,
  secondsAfter,
} from '../../support/builders/records.ts';
import { TEST_KEY } from '../../support/emulator.ts';
import { type ApiServer, startApi } from '../../support/world/api-server.ts';
import { type Ground, ground } from '../../support/world/ground.ts';
import { trains } from '../../support/world/training-run.ts';

const HOSTILE = '<img src=x onerror="document.title=\'taken\'">';
const RUN = 'digits-000001';

let at: Ground;
let api: ApiServer;
let served: ServedPage;
let origin: string;
let chromium: TestBrowser;
let page: Page;
let requested: string[];
let errors: string[];

beforeAll(async () => {
  api = await startApi(ground(), HOSTILE);
  const deps = { files: await buildPage(), apiUrl: api.url, region: 'us-east-1', credentials: TEST_KEY };
  served = await servePage(deps);
  ({ origin } = new URL(served.address));
  chromium = await startBrowser();
}, 90_000);

afterAll(async () => {
  await chromium?.stop();
  served?.close();
  api?.stop();
});

beforeEach(async () => {
  at = ground();
  api.at = at;
  api.instead = undefined;
  api.signatures.length = 0;
  requested = [];
  errors = [];
  page = await chromium.browser.newPage({ viewport: { width: 390, height: 800 } });
  page.setDefaultTimeout(8_000);
  page.on('request', (request) => requested.push(new URL(request.url()).origin));
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(message.text());
  });
  page.on('pageerror', (error) => errors.push(error.message));
  return () => page.close();
});

const press = (name: string): Promise<void> => page.getByRole('button', { name, exact: true }).click();

async function interruptedRun(): Promise<void> {
  await at.pipelines.ensure('digits', { firstBatch: 1, at: AT });
  await at.pipelines.setValidity('digits', {
    valid: false,
    problems: [{ path: HOSTILE, message: 'x'.repeat(10_000) }],
    updatedAt: AT,
  });
  await at.runs.create(
    runOf('digits', 1, {
      status: 'failed',
      failure: HOSTILE,
      closedAt: secondsAfter(60),
      updatedAt: secondsAfter(500),
    }),
  );
  await at.attempts.create(
    attemptOf(RUN, 1, {
      createdAt: secondsAfter(60),
      progressAfter: progressOf(40, { updatedAt: secondsAfter(300) }),
      outcome: outcomeOf('interrupted', { endedAt: secondsAfter(400) }),
    }),
  );
  await at.timeline.add(RUN, { id: 'a', at: AT, kind: 'note', text: HOSTILE });
}

describe('the page', () => {
  it('leads to a run and shows hostile text', async () => {
    await interruptedRun();
    await page.goto(served.address);
    await page.locator(`#link-${RUN}`).focus();
    await page.keyboard.press('Enter');
    await page.locator('rect.lost').first().waitFor({ state: 'attached' });
    expect(await page.locator('main').textContent()).toContain(HOSTILE);
    expect(await page.locator('img').count()).toBe(0);
    expect(await page.title()).toBe(`${RUN} · Tidewheel`);
    expect(page.url()).toContain(`#/runs/${RUN}`);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    expect(new Set(requested)).toEqual(new Set([origin]));
    expect(errors).toEqual([]);
    expect(api.signatures.every((each) => each.includes('/us-east-1/execute-api/aws4_request'))).toBe(true);
  });

  it('prints the rows that are drawn, and whole names', async () => {
    await at.pipelines.ensure('digits', { firstBatch: 301, at: AT });
    for (let batch = 1; batch <= 300; batch += 1)
      await at.runs.create(runOf('digits', batch, { status: 'empty' }));
    await page.goto(`${served.address}#/pipelines/digits`);
    await page.locator('tr.gap').waitFor({ state: 'attached' });
    const printed = (await page.pdf({ format: 'A4' })).toString('latin1');
    expect(printed.match(/\/Type \/Page\b/g)?.length).toBeLessThan(4);
    await page.emulateMedia({ media: 'print' });
    const cut = `[...document.querySelectorAll('.virtual td a')].filter((each) =>
      each.scrollWidth > each.closest('td').clientWidth).length`;
    expect(await page.evaluate(cut)).toBe(0);
  });

  it('stops a run that trains', async () => {
    await at.runs.create(runOf('digits', 1, { status: 'training', closedAt: AT, sealedAt: AT }));
    await at.attempts.create(attemptOf(RUN, 1, { status: 'running' }));
    await page.goto(`${served.address}#/runs/${RUN}`);
    await press('Stop…');
    await page.getByText('without one all training is lost').waitFor();
    // Longer than a reading: the open buttons stay.
    await page.waitForResponse(/runs\/[^/]+$/);
    await page.waitForResponse(/runs\/[^/]+$/);
    await press('Stop now');
    await page.getByText('Is being stopped').waitFor();
    expect(await page.locator('main').textContent()).toContain(HOSTILE);
    expect((await at.runs.get(RUN))?.stop).toMatchObject({ mode: 'now', requestedBy: HOSTILE });
    expect(errors).toEqual([]);
  });

  it('retries a run, and shows a refusal', async () => {
    await interruptedRun();
    await page.goto(`${served.address}#/runs/${RUN}`);
    await press('Retry…');
    await press('Retry');
    expect(await page.getByRole('alert').textContent()).toContain('ended before its data was packed');
    await at.runs.update(RUN, {
      sealedAt: AT,
      declaration: declarationOf('digits'),
      updatedAt: secondsAfter(500),
    });
    await press('Retry');
    await page.getByRole('button', { name: 'Stop…' }).waitFor();
    expect(await at.runs.get(RUN)).toMatchObject({ status: 'placing', retry: { number: 1 } });
  });

  it('dismisses a failure that is known', async () => {
    await at.pipelines.ensure('digits', { firstBatch: 2, at: AT });
    await at.pipelines.setValidity('digits', { valid: true, updatedAt: AT });
    const failure = `the script ended\nTraceback (most recent call last):\n  File "a.py"\nValueError: ${HOSTILE}`;
    await at.runs.create(runOf('digits', 1, { status: 'failed', failure, closedAt: AT }));
    await page.goto(served.address);
    await page.getByText(`ValueError: ${HOSTILE}`).first().waitFor();
    expect(await page.locator('pre:visible').count()).toBe(0);
    await press('Dismiss');
    await page.getByRole('heading', { name: 'Needs you' }).waitFor({ state: 'detached' });
    expect((await at.runs.get(RUN))?.acknowledgement?.requestedBy).toBe(HOSTILE);
    expect(errors).toEqual([]);
  });

  it('says nothing before it is known', async () => {
    await at.pipelines.ensure('digits', { firstBatch: 2, at: AT });
    let answer = (): void => undefined;
    const held = new Promise<void>((resolve) => (answer = resolve));
    await page.route(/api\/runs\?/, async (route) => {
      await held;
      await route.continue();
    });
    await page.goto(`${served.address}#/pipelines/digits`);
    await page.getByLabel('Reading the API').waitFor();
    expect(await page.locator('main').textContent()).not.toContain('No run yet');
    answer();
    await page.getByText('No run yet').waitFor();
    api.instead = { status: 500, body: { message: 'Internal Server Error' } };
    await page.getByRole('button', { name: 'Try again' }).waitFor();
    api.instead = undefined;
    await press('Try again');
    await page.getByRole('alert').waitFor({ state: 'detached' });
  });

  it('notes a run, and finds it by its tag', async () => {
    for (const number of [1, 2])
      await at.runs.create(
        runOf('digits', number, { status: 'stopped', closedAt: AT, declaration: declarationOf('digits') }),
      );
    await page.goto(`${served.address}#/runs/${RUN}`);
    await press('Note and tags…');
    await page.getByLabel('note', { exact: true }).fill(HOSTILE);
    await page.getByLabel('tags, with commas').fill('two words');
    await press('Save');
    await page.getByText('write a tag of up to 40').waitFor();
    await page.getByLabel('tags, with commas').fill('baseline, good');
    await press('Save');
    await page.getByText('baseline, good').waitFor();
    await page.goto(`${served.address}#/runs?find=tag:baseline`);
    await page.locator(`#link-digits-000002`).waitFor({ state: 'detached' });
    await page.locator(`#link-${RUN}`).waitFor();
    expect(await page.locator('img').count()).toBe(0);
    expect((await at.runs.get(RUN))?.annotation).toMatchObject({ note: HOSTILE, tags: ['baseline', 'good'] });
  });

  it('saves a curve as CSV and PNG', async () => {
    await interruptedRun();
    const values = [1, 2, 3].map((step) =>
      JSON.stringify({ source: 'log', unit: 'step', position: step, at: step, values: { 'a,"b': 1 / step } }),
    );
    at.store.put(
      `${bucketKeys.series('digits', RUN)}attempt-1.jsonl`,
      [JSON.stringify({ startedAt: 0 }), ...values].join('\n'),
    );
    await page.goto(`${served.address}#/runs/${RUN}?x=step&zoom=1-2&scale=log`);
    await page.locator('.chart canvas').first().waitFor();
    const saved = async (item: string) => {
      await page.getByLabel('more of a,"b').click();
      const [download] = await Promise.all([page.waitForEvent('download'), press(item)]);
      return readFile(await download.path());
    };
    expect((await saved('Save as CSV')).toString().split('\n').slice(0, 2)).toEqual([
      'step,"a,""b",attempt,time,state',
      '1,1,1,1970-01-01T00:00:01.000Z,kept',
    ]);
    expect((await saved('Save as PNG')).subarray(1, 4).toString()).toBe('PNG');
    await press('whole run');
    expect(page.url()).not.toContain('zoom');
    expect(errors).toEqual([]);
  });

  it('takes compared runs out, and names each refusal', async () => {
    await interruptedRun();
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await page.goto(`${served.address}#/compare?runs=${RUN},digits-000007,digits-000008`);
    await page.getByText('digits-000007').first().waitFor();
    for (const name of ['digits-000007', 'digits-000008'])
      await page.getByRole('alert').filter({ hasText: name }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('digits-000009');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').filter({ hasText: 'digits-000009' }).waitFor();
    await press('take digits-000007 out');
    expect(page.url()).toContain(encodeURIComponent(`${RUN},digits-000008,digits-000009`));
    await page.getByText('digits-000007').waitFor({ state: 'detached' });
    const ofRefused = () => asked.filter((each) => each.endsWith('/digits-000009')).length;
    const before = ofRefused();
    // Longer than the pause before the page repeats a call that was refused for now.
    await page.waitForTimeout(6_000);
    expect(ofRefused()).toBe(before);
  });

  it('runs a run again', async () => {
    at.declare();
    const source = 'a'.repeat(64);
    await at.store.writeText(`${bucketKeys.packedSource('digits', source)}source.zip`, 'packed');
    await at.pipelines.ensure('digits', { firstBatch: 2, at: AT });
    const declaration = declarationOf('digits');
    await at.runs.create(runOf('digits', 1, { status: 'succeeded', closedAt: AT, source, declaration }));
    await page.goto(`${served.address}#/runs/${RUN}`);
    await press('Run again…');
    await press('Run again');
    await page.getByRole('heading', { name: 'digits-000002' }).waitFor();
    expect((await at.runs.get('digits-000002'))?.request).toMatchObject({ again: RUN, requestedBy: HOSTILE });
    expect(errors).toEqual([]);
  });

  it('deletes the checkpoints of an ended run', async () => {
    await interruptedRun();
    await page.goto(`${served.address}#/runs/${RUN}`);
    await press('Delete checkpoints…');
    await press('Delete');
    await page.getByText('are deleted within a day, as').first().waitFor();
    expect((await at.runs.get(RUN))?.checkpointDeletion).toMatchObject({ requestedBy: HOSTILE });
    expect(await page.locator('img').count()).toBe(0);
    expect(errors).toEqual([]);
  });

  it('foresees and changes the limits of a run', async () => {
    const { limits } = question();
    await trains(at);
    await page.goto(`${served.address}#/runs/${RUN}`);
    await press('Limits…');
    await press('Change the limits');
    await page.getByText('Fill in a deadline or a budget first.').waitFor();
    await page.getByLabel('deadline in hours').fill('0');
    await press('Change the limits');
    expect(await page.getByRole('alert').textContent()).toContain(
      'limits.deadlineHours is 0, give more than 0',
    );
    await page.getByLabel('deadline in hours').fill('48');
    await press('What would placement do?');
    await page.getByRole('status').getByRole('group', { name: 'pools that were considered' }).waitFor();
    expect((await at.runs.get(RUN))?.declaration?.limits).toEqual(limits);
    await press('Change the limits');
    await page.getByText('The run has a deadline of 48 h').waitFor();
    expect((await at.runs.get(RUN))?.declaration?.limits).toEqual({ ...limits, deadlineHours: 48 });
    expect(errors).toEqual([expect.stringContaining('400')]);
  });

  it('draws how busy the hosts were, and the verdicts', async () => {
    await interruptedRun();
    const gain = { low: 1, expected: 2, high: 3 };
    await at.attempts.update(RUN, 1, {
      diagnosis: {
        at: secondsAfter(390),
        verdicts: [
          {
            cause: 'too-few-workers',
            evidence: {},
            remedy: { change: { kind: 'workers', workers: 4 }, where: 'script', text: HOSTILE },
            gain: { seconds: gain, dollars: gain },
            also: [],
            unknown: [],
            next: undefined,
          },
        ],
      },
      updatedAt: secondsAfter(400),
    });
    const measured = [
      { at: secondsAfter(210), processes: 1, cpu: { cores: 4, all: 3 }, gpu: null, shares: { wait: 0.2 } },
      { at: secondsAfter(310), processes: 1, cpu: { cores: 4, all: 1 }, gpu: null, shares: { wait: 0.4 } },
    ];
    at.store.put(
      `${bucketKeys.evidence('digits', RUN)}1-algo-1.jsonl`,
      measured.map((each) => JSON.stringify(each)).join('\n'),
    );
    await page.goto(`${served.address}#/runs/${RUN}`);
    await page.locator('[aria-label="utilisation by time"] canvas').waitFor();
    expect(await page.locator('.legend').last().textContent()).toBe(
      'CPU, mean 50 %waiting for data, mean 30 %',
    );
    expect(await page.locator('path.mark-doctor title').first().textContent()).toContain(
      `doctor on attempt 1: too-few-workers, ${HOSTILE}`,
    );
    await page.getByLabel('more of utilisation').click();
    const rows = page.getByRole('group', { name: 'numbers of utilisation' }).locator('tbody tr');
    await rows.first().waitFor();
    expect(await rows.count()).toBe(2);
    expect(await page.locator('img').count()).toBe(0);
    expect(errors).toEqual([]);
  });

  it('pins a version of the dataset, then unpins it', async () => {
    await at.blobStore.put(`${bucketKeys.incoming('digits')}a.txt`, Buffer.from('one'));
    await packAll(at.blobStore, settings());
    at.declare();
    const pinned = async () =>
      /pin: (\S+)/.exec((await at.store.readText(bucketKeys.pipeline('digits')))?.text ?? '')?.[1];
    await page.goto(`${served.address}#/pipelines/digits/data`);
    await press('Pin…');
    await page.getByText(`train on version 1: 1 samples of ${RUN}`).waitFor();
    await press('Pin');
    await page.getByText('sealed, pinned').waitFor();
    expect(await pinned()).toBe(RUN);
    await press('Unpin…');
    await press('Take the pin out');
    await page.getByRole('button', { name: 'Pin…' }).waitFor();
    expect(await pinned()).toBeUndefined();
    expect(errors).toEqual([]);
  });

  it('shows probes with what differs between them', async () => {
    for (const number of [1, 2]) {
      const hyperparameters = { lr: number === 1 ? HOSTILE : 'small' };
      const declaration = declarationOf('digits', { training: { strategy: 'ddp', hyperparameters } });
      const runId = `digits-probe-00000${number}`;
      await at.runs.create(
        runOf('digits', 0, { runId, status: 'succeeded', probe: { number }, declaration }),
      );
      const steps = { basis: 'hooks', steps: 50, samplesPerStep: 8 };
      const blocks = { blockSeconds: [number, number, number], blockSteps: [10, 10, 10] };
      at.store.put(
        `${bucketKeys.evidence('digits', runId)}1-algo-1-steps.json`,
        JSON.stringify({ ...steps, ...blocks }),
      );
      await at.attempts.create(attemptOf(runId, 1, { status: 'done', outcome: outcomeOf('completed') }));
    }
    await page.goto(`${served.address}#/pipelines/digits/probes`);
    await page.getByText(`Fastest: lr=${HOSTILE}; the next one is 100 % slower`).waitFor();
    await page.getByText('Seconds are by the clock of the machine.').waitFor();
    expect(await page.locator('tbody tr').count()).toBe(2);
    expect(await page.locator('img').count()).toBe(0);
    await page.locator('#link-digits-probe-000002').click();
    await page.getByRole('heading', { name: 'digits-probe-000002' }).waitFor();
    expect(errors).toEqual([]);
  });

  it('promotes a candidate, with the reason of a person', async () => {
    await at.pipelines.ensure('digits', { firstBatch: 4, at: AT });
    await at.pipelines.setValidity('digits', { valid: true, updatedAt: AT });
    const scores = (right: number) =>
      Array.from({ length: 40 }, (_, place) =>
        JSON.stringify({ key: `${HOSTILE}${place}`, accuracy: Number(place < right), label: HOSTILE }),
      ).join('\n');
    for (const [place, right] of [30, 31].entries()) {
      const objective = { metric: 'accuracy', mode: 'max' };
      const promote = { whenBetterBy: 0, confidence: 0.95 };
      const declaration = declarationOf('digits', { promote, training: { strategy: 'ddp', objective } });
      const run = runOf('digits', place + 1, { status: 'succeeded', declaration });
      const key = `${bucketKeys.models('digits', run.runId)}model.tar.gz`;
      at.store.put(key, `model ${place}`);
      at.store.put(bucketKeys.scores('digits', run.runId), scores(right));
      await at.runs.create({ ...run, modelUri: s3Uri(at.store.bucket, key) });
      await recordModel(at, run, s3Uri(at.store.bucket, key));
    }
    await page.goto(served.address);
    await page.getByText('has a model that waits for you: digits-000002, too close to tell').waitFor();
    await page.getByRole('link', { name: 'Decide…' }).click();
    await page.getByRole('group', { name: 'accuracy against digits-000001' }).getByText('+0.025').waitFor();
    await press('Promote…');
    await press('Promote');
    await page.getByText('say why').waitFor();
    await page.getByLabel('reason').fill(HOSTILE);
    await press('Promote');
    await page.getByRole('button', { name: 'Roll back…' }).waitFor();
    expect((await at.models.get('digits'))?.models).toMatchObject([
      { runId: 'digits-000002', state: 'current', by: HOSTILE, reason: HOSTILE },
      { runId: 'digits-000001', state: 'former' },
    ]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    await page.goto(`${served.address}#/runs/digits-000002`);
    await page.getByRole('region', { name: 'model' }).getByText('accuracy 0.775, +0.025').waitFor();
    await page.goto(`${served.address}#/models`);
    await page.getByText('current').waitFor({ state: 'detached' });
    await page.getByText(`${HOSTILE}: ${HOSTILE}`).waitFor({ state: 'attached' });
    expect(await page.locator('img').count()).toBe(0);
    expect(errors).toEqual([expect.stringContaining('400')]);
  });

  it('follows the log of a run over attempts', async () => {
    await at.runs.create(runOf('digits', 1, { status: 'training', closedAt: AT, sealedAt: AT }));
    const log = (attempt: number) => ({ group: 'jobs', streamPrefix: `a${attempt}/` });
    await at.attempts.create(
      attemptOf(RUN, 1, {
        log: log(1),
        createdAt: secondsAfter(-900),
        outcome: outcomeOf('interrupted', { endedAt: secondsAfter(-600) }),
      }),
    );
    await at.attempts.create(
      attemptOf(RUN, 2, { log: log(2), status: 'running', createdAt: secondsAfter(-500) }),
    );
    const print = (attempt: number, seconds: number, text: string) =>
      at.logs.print(`a${attempt}/`, { at: Date.parse(secondsAfter(seconds)), host: 'algo-1', text });
    print(1, -800, '\u001b[31mstep 1\u001b[0m');
    print(2, -400, HOSTILE);
    await page.setViewportSize({ width: 1_100, height: 800 });
    await page.goto(`${served.address}#/runs/${RUN}/log`);
    await page.getByText(HOSTILE).waitFor();
    const rows = () => page.locator('.of-log tbody tr:not(.gap)').allTextContents();
    expect((await rows()).map((row) => /step 1|img|reclaimed|began|attempt \d/.exec(row)?.[0])).toContain(
      'step 1',
    );
    expect(await page.locator('img').count()).toBe(0);
    const before = (await rows()).length;
    print(2, -300, 'step 2');
    await page.getByText('step 2').waitFor();
    expect(await rows()).toHaveLength(before + 1);
    await page.keyboard.press('r');
    await page.keyboard.press('l');
    await page.getByText('step 2').waitFor();
    expect(errors).toEqual([]);
  });

  it('names the next command where there is no pipeline', async () => {
    await page.goto(served.address);
    await page.getByText('There is no pipeline yet').waitFor();
    expect(await page.locator('code').allTextContents()).toContain('npx --no-install tidewheel init');
  });

  it('says that its server has ended', async () => {
    const deps = { files: await buildPage(), apiUrl: api.url, region: 'us-east-1', credentials: TEST_KEY };
    const other = await servePage(deps);
    await page.goto(other.address);
    await page.getByText('There is no pipeline yet').waitFor();
    other.close();
    expect(await page.getByRole('alert').textContent()).toContain('The page has lost its server');
  });

  it.each([
    [403, 'Forbidden', 'execute-api:Invoke'],
    [429, 'Too Many Requests', 'tries again by itself'],
    [500, 'Internal Server Error', 'answered 500'],
  ])('says what to do where the API answers %i', async (status, message, remedy) => {
    api.instead = { status, body: { message } };
    await page.goto(served.address);
    expect(await page.getByRole('alert').textContent()).toContain(remedy);
  });
});
