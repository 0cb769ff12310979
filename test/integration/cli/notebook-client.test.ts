/** `tidewheel_client.run` from Python: a folder of code and data against the API and a bucket. */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import type { OpenStore } from '../../../functions/aws/s3/open-store.ts';
import { projectPython, TEST_KEY } from '../../support/emulator.ts';
import { emulatorOfSuite } from '../../support/emulator-of-suite.ts';
import { folderOfTest } from '../../support/folders.ts';
import { writeFiles } from '../../support/sagemaker-projects.ts';
import { openTestBucket } from '../../support/test-bucket.ts';
import { type ApiServer, startApi } from '../../support/world/api-server.ts';
import { ground } from '../../support/world/ground.ts';

const BUCKET = 'notebook-client';
const DECLARED = `name: pets   # ours
training: { strategy: single }
compute: { instanceTypes: [g5.xlarge] }
`;

const emulator = emulatorOfSuite();
let api: ApiServer;
let opened: OpenStore;

beforeAll(async () => {
  api = await startApi(ground(), 'ada');
  opened = await openTestBucket(emulator.url, BUCKET);
  return async () => {
    api.stop();
    await opened[Symbol.asyncDispose]();
  };
});

beforeEach(() => {
  api.at = ground();
});

/** Runs Python where `tidewheel` is a client of the API and the bucket. @returns what it prints */
async function python(folder: string, statement: string): Promise<string> {
  const program = `
import boto3, tidewheel_client as tc
session = boto3.Session(${JSON.stringify(TEST_KEY.accessKeyId)}, ${JSON.stringify(TEST_KEY.secretAccessKey)}, region_name="us-east-1")
tidewheel = tc.Tidewheel(deployment=tc.Deployment("a test", ${JSON.stringify(api.url)}, "us-east-1", session,
    endpoint_url=${JSON.stringify(emulator.url)}, bucket=${JSON.stringify(BUCKET)}, token="ada"))
try:
    print(${statement})
except tc.TidewheelError as error:
    print("refused:", error)
`;
  const client = path.join(import.meta.dirname, '../../../training/client');
  const env = { ...process.env, PYTHONPATH: client, TIDEWHEEL_API_URL: '', TIDEWHEEL_TOKEN: '' };
  const { stdout } = await promisify(execFile)(projectPython(), ['-c', program], { cwd: folder, env });
  return stdout.trim();
}

const keys = async (): Promise<readonly string[]> =>
  (await opened.store.listPage('pets/', {})).objects.map(({ key }) => key);

it('a folder is declared, sent and started', async () => {
  const folder = folderOfTest('notebook');
  await writeFiles(folder, {
    'tidewheel.yaml': DECLARED,
    'train.py': 'print(1)',
    'old.py': 'print(2)',
    '.env': 'SECRET=1',
    'data/cat/1.png': 'cat',
  });
  const call = 'tidewheel.submit(".", "data", {"lr": 0.1})';
  expect(await python(folder, call)).toBe("Run('pets-000001')");
  expect(await keys()).toEqual(['pets/incoming/cat/1.png', 'pets/source/old.py', 'pets/source/train.py']);
  const run = await api.at.runs.get('pets-000001');
  expect(run?.request?.parts?.training.hyperparameters).toEqual({ lr: 0.1 });

  await python(folder, '__import__("os").remove("old.py")');
  expect(await python(folder, call)).toBe("Run('pets-000001')");
  expect(await keys()).toEqual(['pets/incoming/cat/1.png', 'pets/source/train.py']);
});

it.each([
  [
    'tidewheel.submit("code")',
    'there is no tidewheel.yaml in code: write one with `npx --no-install tidewheel init`',
  ],
  ['tidewheel.submit("code", pipeline="pets", declaration={"training": {}})', 'training.strategy'],
  ['tidewheel.submit("nowhere", pipeline="pets")', 'there is no folder nowhere'],
])('%s is refused before anything is sent', async (call, words) => {
  const folder = folderOfTest('notebook');
  await writeFiles(folder, { 'code/train.py': 'print(1)' });
  const before = await keys();
  expect(await python(folder, call)).toContain(words);
  expect(await keys()).toEqual(before);
});
