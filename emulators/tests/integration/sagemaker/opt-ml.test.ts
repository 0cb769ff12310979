/** What a host's program finds as /opt/ml, with the kernel's namespaces and without them. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { projectPython } from '../../../../test/support/emulator.ts';
import { hasNamespaces, pythonWithoutNamespaces } from '../../../../test/support/without-namespaces.ts';
import { startHost } from '../../../sagemaker/hosts/host-process.ts';
import { canShowOptMl } from '../../../sagemaker/hosts/opt-ml.ts';

let folder: string;
let withoutNamespaces: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'tw-opt-ml-'));
  withoutNamespaces = await pythonWithoutNamespaces(folder);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const PROGRAM = 'import os, sys; print("\\n".join([os.environ["SAGEMAKER_BASE_DIR"], *sys.argv[1:]]))';
const WORDS = [
  '/opt/ml',
  '--in=/opt/ml/input:/opt/ml/model',
  "chmod +x '/opt/ml/a b' && /opt/ml/run",
  '/srv/opt/ml/x',
  '/opt/mlflow',
  '../opt/ml',
];

/** @returns SAGEMAKER_BASE_DIR and the words, as a program of the host gets them */
async function seenBy(python: string, base: string): Promise<readonly string[]> {
  await mkdir(base);
  const host = startHost(python, {
    command: [projectPython(), '-c', PROGRAM, ...WORDS],
    environment: { TMPDIR: folder, SAGEMAKER_BASE_DIR: '/opt/ml' },
    directory: folder,
    optMl: base,
  });
  host.stderr.resume();
  return (await text(host.stdout)).trimEnd().split('\n');
}

test.skipIf(!hasNamespaces)('with namespaces a program gets what it was sent', async () => {
  expect(await canShowOptMl(projectPython(), folder)).toBe(true);
  expect(await seenBy(projectPython(), path.join(folder, 'seen'))).toEqual(['/opt/ml', ...WORDS]);
});

test('without them its own folder stands for /opt/ml', async () => {
  expect(await canShowOptMl(withoutNamespaces, folder)).toBe(false);
  const base = path.join(folder, 'not seen');
  expect(await seenBy(withoutNamespaces, base)).toEqual([
    base,
    base,
    `--in=${base}/input:${base}/model`,
    `chmod +x '${base}/a b' && ${base}/run`,
    ...WORDS.slice(3),
  ]);
});

test('what a host needs must stay in sight', async () => {
  expect(await canShowOptMl(projectPython(), path.join(folder, 'hidden'))).toBe(false);
});
