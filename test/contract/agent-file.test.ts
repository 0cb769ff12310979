/** The agent goes to the bucket as one file under the hash of its bytes, and Python runs it. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  AGENT_FILE,
  AGENT_FILES,
  bucketKeys,
  HOOK_FILES,
  SOURCE_FILE,
} from '@tidewheel/contract/bucket-keys.ts';
import { compileAgent } from '@tidewheel/emulators/region/compile-agent.ts';
import { zipOf } from '@tidewheel/kit/zip.ts';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { agentPublisher, writeAgent } from '../../functions/aws/lambda/agent.ts';
import { agentFilesOf } from '../../functions/launch/job/job-parts.ts';
import { pinnedSourceOf } from '../../functions/launch/source/pin-source.ts';
import { declaration } from '../support/builders/launch.ts';
import { runOf } from '../support/builders/records.ts';
import { projectPython } from '../support/emulator.ts';
import { fakeClock } from '../support/fakes/clock.ts';
import { memoryObjectStore } from '../support/fakes/object-store.ts';

const ROOT = path.join(import.meta.dirname, '../..');
const PYTHON = projectPython();
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'tidewheel-agent-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

it('lies under its hash, written once', async () => {
  const store = memoryObjectStore(fakeClock());
  const publish = agentPublisher(store, ROOT);
  const [prefix, again] = [await publish([AGENT_FILE]), await publish([AGENT_FILE])];
  expect(again).toBe(prefix);
  expect(store.keys()).toEqual([`${prefix}tidewheel.pyz`]);
  const bytes = (await store.readBytes(`${prefix}tidewheel.pyz`))?.bytes ?? new Uint8Array();
  const digest = createHash('sha256').update(bytes).digest('hex');
  expect(prefix).toBe(`agent/${digest.slice(0, 16)}/`);
});

it('is sent again where it has been removed alone', async () => {
  const store = memoryObjectStore(fakeClock());
  const createBytes = vi.spyOn(store, 'createBytes');
  const publish = agentPublisher(store, ROOT);
  const prefix = await publish(AGENT_FILES);
  await publish(AGENT_FILES);
  expect(createBytes).toHaveBeenCalledTimes(AGENT_FILES.length);
  await store.delete(prefix + AGENT_FILE);
  await publish(AGENT_FILES);
  expect(createBytes).toHaveBeenCalledTimes(AGENT_FILES.length + 1);
  expect(store.keys()).toContain(prefix + AGENT_FILE);
});

it('lies beside its hooks under one hash', async () => {
  const store = memoryObjectStore(fakeClock());
  const publish = agentPublisher(store, ROOT);
  const [alone, all] = await Promise.all([publish([AGENT_FILE]), publish(AGENT_FILES)]);
  expect(store.keys().toSorted()).toEqual(
    [alone + AGENT_FILE, ...AGENT_FILES.map((file) => all + file)].toSorted(),
  );
});

it('brings hooks only where the declaration needs them', () => {
  const files = (training: object) =>
    agentFilesOf(declaration({ training: { strategy: 'single', ...training } }).training);
  expect(files({})).toEqual([AGENT_FILE, HOOK_FILES.instrument]);
  expect(files({ instrument: false })).toEqual([AGENT_FILE]);
  expect(files({ checkpoint: 'automatic' })).toEqual([
    AGENT_FILE,
    HOOK_FILES.instrument,
    HOOK_FILES.automatic,
  ]);
});

it('has the same bytes from another folder', async () => {
  const agent = path.join(folder, 'training/agent');
  cpSync(path.join(ROOT, 'training/agent'), agent, { recursive: true });
  utimesSync(path.join(agent, '__main__.py'), 1, 1);
  writeFileSync(path.join(agent, 'left.pyc'), 'bytecode');
  const published = (from: string) => agentPublisher(memoryObjectStore(fakeClock()), from)([AGENT_FILE]);
  expect(await published(folder)).toBe(await published(ROOT));
});

it('starts from what was compiled of the same source', async () => {
  const built = path.join(folder, 'compiled');
  cpSync(path.join(ROOT, 'training'), path.join(built, 'training'), {
    recursive: true,
    filter: (from) => !/\/training\/(?!agent|automatic|instrument)|__pycache__/.test(from),
  });
  const agent = path.join(built, 'training/agent');
  const imported = async (source: string) => {
    writeFileSync(path.join(agent, 'probe.py'), source);
    const file = path.join(folder, 'compiled.pyz');
    await writeAgent(built, file);
    const code = 'import probe; print(probe.VALUE, probe.__file__)';
    const env = { ...process.env, PYTHONPATH: file };
    return execFileSync(PYTHON, ['-c', code], { env, encoding: 'utf8' }).trim();
  };
  expect(await imported('VALUE = 1')).toMatch(/^1 .*probe\.py$/);
  await compileAgent({ projectFolder: built, pythonPath: PYTHON });
  expect(await imported('VALUE = 1')).toMatch(/^1 .*probe\.pyc$/);
  expect(await imported('VALUE = 2')).toMatch(/^2 .*probe\.py$/);
  rmSync(path.join(agent, 'probe.py'));
  await writeAgent(built, path.join(folder, 'compiled.pyz'));
  const names = ['-c', 'import sys, zipfile; print(zipfile.ZipFile(sys.argv[1]).namelist())'];
  const packed = execFileSync(PYTHON, [...names, path.join(folder, 'compiled.pyz')], { encoding: 'utf8' });
  expect(packed).toContain('__main__.pyc');
  expect(packed).not.toContain('probe');
});

it('runs as one file, and gives scripts their helper', async () => {
  const file = path.join(folder, 'tidewheel.pyz');
  await writeAgent(ROOT, file);
  const code = 'import tidewheel; print(tidewheel.stop_soon())';
  const environment = { ...process.env, PYTHONPATH: path.join(file, 'for_scripts') };
  const helped = execFileSync(PYTHON, ['-c', code], { env: environment, encoding: 'utf8' });
  expect(helped.trim()).toBe('False');
  const base = { ...process.env, SAGEMAKER_BASE_DIR: folder };
  expect(() => execFileSync(PYTHON, [file], { env: base, encoding: 'utf8', stdio: 'pipe' })).toThrow(
    expect.objectContaining({ status: 1, stdout: expect.stringContaining('cannot start') as string }),
  );
});

it('says so where the package holds none', async () => {
  await expect(writeAgent(path.join(ROOT, 'docs'), path.join(folder, 'none.pyz'))).rejects.toThrow();
});

it('is a zip that other programs read', () => {
  const names = ['train.py', 'a/ü \u{1F30A}.txt', 'a/b'];
  const file = path.join(folder, 'some.zip');
  writeFileSync(file, zipOf(names.map((name) => ({ name, bytes: Buffer.from(name) }))));
  const program = `
import json, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as z:
    assert z.testzip() is None
    print(json.dumps([[i.filename, z.read(i).decode(), i.date_time[0], oct(i.external_attr >> 16)] for i in z.infolist()]))`;
  const read = JSON.parse(execFileSync(PYTHON, ['-c', program, file], { encoding: 'utf8' })) as unknown;
  expect(read).toEqual(names.toSorted().map((name) => [name, name, 1980, '0o100644']));
});

it('unpacks a source with every name and byte', async () => {
  const names = ['train.py', 'a/b.py', 'ü \u{1F30A}/x', "'; rm -rf $(id)", 'a/..b', 'x'.repeat(255)];
  const store = memoryObjectStore(fakeClock());
  for (const name of names) store.put(`${bucketKeys.source('digits')}${name}`, `${name}\0`);
  const digest =
    (await pinnedSourceOf(store, runOf('digits', 1, { declaration: declaration() })))?.digest ?? '';
  const archive = await store.readBytes(bucketKeys.packedSource('digits', digest) + SOURCE_FILE);
  const file = path.join(folder, 'source.zip');
  writeFileSync(file, archive?.bytes ?? '');
  const target = path.join(folder, 'code');
  const program = `
import sys; from pathlib import Path
from tidewheel_agent.source.place import unpack_source
unpack_source(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))`;
  execFileSync(PYTHON, ['-c', program, file, digest, target], {
    env: {
      ...process.env,
      PYTHONPATH: ['', 'for_scripts']
        .map((each) => path.join(ROOT, 'training/agent', each))
        .join(path.delimiter),
    },
  });
  const there = readdirSync(target, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(target, path.join(entry.parentPath, entry.name)));
  expect(there.toSorted()).toEqual(names.toSorted());
  expect(names.map((name) => readFileSync(path.join(target, name), 'utf8'))).toEqual(
    names.map((name) => `${name}\0`),
  );
});
