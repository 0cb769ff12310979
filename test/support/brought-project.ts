/** A project in a region as its owner brings it: interrupted twice, and trained without a disturbance. */
import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { GetObjectCommand } from '@aws-sdk/client-s3';
import { apiClient } from '@tidewheel/emulators/region/api-client.ts';
import { controlClient } from '@tidewheel/emulators/region/control-client.ts';
import { expect } from 'vitest';
import type { RunReport } from '../../functions/run/attempts/make-report.ts';
import { finishedRun, type TestRegion, tidewheelIn } from './region.ts';
import { type Files, writeFiles } from './sagemaker-projects.ts';

const run = promisify(execFile);

export interface Brought {
  readonly name: string;
  readonly files: Files;
  /** What it prints of a round of its training, with the round. */
  readonly round: RegExp;
  /** So many in a run without interruptions. */
  readonly rounds: number;
  /** The file of its model. */
  readonly model: string;
}

/** Written by `init`, and interrupted once it has saved, in its first attempt and in its second. @returns its model */
export async function trainInterrupted(test: TestRegion, home: string, brought: Brought): Promise<string> {
  const { name, files, round } = brought;
  const project = path.join(home, name);
  await mkdir(project, { recursive: true });
  await writeFiles(project, files);
  await tidewheelIn(test, home, ['init', project, '--name', name]);
  const declaration = path.join(project, 'tidewheel.yaml');
  const text = await readFile(declaration, 'utf8');
  await writeFile(declaration, text.replace('quietSeconds: 60', 'quietSeconds: 1'));
  await tidewheelIn(test, home, ['drop', project]);

  const runId = `${name}-000001`;
  const api = apiClient(test.region);
  const control = await controlClient(test.stateDirectory);
  /** The rounds that an attempt has printed. */
  const roundsOf = async (attempt: number): Promise<number> => {
    const { status, body } = await api.call('GET', `/runs/${runId}/log?attempt=${attempt}&limit=5000`);
    const { entries = [] } = status === 200 ? (body as { entries?: { text: string }[] }) : {};
    return new Set(entries.flatMap((entry) => round.exec(entry.text)?.[1] ?? [])).size;
  };
  for (const attempt of [1, 2]) {
    const until = Date.now() + LIMIT_MILLISECONDS;
    while ((await roundsOf(attempt)) < 2) {
      if (Date.now() > until) throw new Error(`attempt ${attempt} of ${runId} trains no second round`);
      await sleep(POLL_MILLISECONDS);
    }
    await control.strike({ run: runId, kill: false });
  }
  const report = await finishedRun(api, runId);
  expect({
    status: report.status,
    outcomes: report.attempts.map(({ outcome }) => outcome),
  }).toEqual({ status: 'succeeded', outcomes: ['interrupted', 'interrupted', 'completed'] });
  // The last attempt went on from what the others had saved.
  expect(await roundsOf(3)).toBeLessThan(brought.rounds - 1);
  return modelOf(test, home, { report, file: brought.model });
}

const LIMIT_MILLISECONDS = 400_000;
const POLL_MILLISECONDS = 1_000;

/**
 * The same data once more. The answer names the run: an arrival whose event comes after the close, and that is closer to
 * it than clocks may differ, has started a run that finds nothing. @returns its model
 */
export async function trainUndisturbed(
  test: TestRegion,
  home: string,
  { name, model }: Brought,
): Promise<string> {
  const api = apiClient(test.region);
  const { status, body } = await api.call('POST', `/pipelines/${name}/runs`);
  expect(status).toBe(202);
  const report = await finishedRun(api, (body as { runId: string }).runId);
  expect(report).toMatchObject({ status: 'succeeded', interruptions: 0 });
  return modelOf(test, home, { report, file: model });
}

interface Trained {
  readonly report: RunReport;
  readonly file: string;
}

async function modelOf({ region }: TestRegion, home: string, { report, file }: Trained): Promise<string> {
  const { hostname, pathname } = new URL(report.modelUri ?? '');
  const got = await region.clients.s3.send(
    new GetObjectCommand({ Bucket: hostname, Key: pathname.slice(1) }),
  );
  const archive = path.join(home, `${report.runId}.tar.gz`);
  await writeFile(archive, (await got.Body?.transformToByteArray()) ?? '');
  const { stdout } = await run('tar', ['-xOzf', archive, file], {
    encoding: 'base64',
    maxBuffer: 10_000_000,
  });
  return stdout;
}

/** By its script alone, outside of the region. @param python has its packages @returns its model */
export async function trainByHand(
  python: string,
  home: string,
  { name, files, model, rounds }: Brought,
): Promise<string> {
  const folder = path.join(home, `${name}-by-hand`);
  await mkdir(path.join(folder, 'checkpoints'), { recursive: true });
  await writeFiles(folder, files);
  const script = path.join(folder, 'src/train.py');
  const text = await readFile(script, 'utf8');
  const own = text
    .replace('/opt/ml/checkpoints', path.join(folder, 'checkpoints'))
    .replace('pause = 1', 'pause = 0');
  await writeFile(script, own);
  const env = {
    SM_CHANNEL_TRAIN: path.join(folder, 'data/train'),
    SM_CHANNEL_VALIDATION: path.join(folder, 'data/validation'),
    SM_MODEL_DIR: folder,
  };
  await run(python, [script, '--rounds', `${rounds}`], { env });
  return readFile(path.join(folder, model), 'base64');
}
