/** Faults of a host as its program meets them: real stops, a real full disk, real broken connections. */
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { projectPython } from '../../../../test/support/emulator.ts';
import { folderOfSuite } from '../../../../test/support/folders.ts';
import { type InjectedFault, startHost } from '../../../sagemaker/hosts/host-process.ts';
import { canShowOptMl } from '../../../sagemaker/hosts/opt-ml.ts';

const folder = folderOfSuite('host-faults');
const hasNamespaces = await canShowOptMl(projectPython(), folder);

async function hostOf(name: string, script: string, ...args: string[]) {
  const base = path.join(folder, name);
  await mkdir(base);
  return startHost(projectPython(), {
    command: [projectPython(), '-c', script, ...args],
    environment: { TMPDIR: folder },
    directory: folder,
    optMl: base,
  });
}

/** Befalls the host once its program has printed a line. @returns the next line */
async function lineAfter(
  fault: InjectedFault,
  name: string,
  script: string,
  ...args: string[]
): Promise<string> {
  const host = await hostOf(name, script, ...args);
  host.stderr.resume();
  const lines = createInterface({ input: host.stdout })[Symbol.asyncIterator]();
  await lines.next();
  host.inject(fault);
  const { value } = await lines.next();
  host.kill();
  await host.exited;
  return value ?? 'nothing';
}

const FILLS = `
import os, pathlib, time
folder = pathlib.Path("/opt/ml/checkpoints")
folder.mkdir()
(folder / "kept").write_text("as it was")
print("ready", flush=True)
for number in range(10_000):
    try:
        (folder / f"new-{number}").write_bytes(b"0")
    except OSError as error:
        print(error.strerror, (folder / "kept").read_text(), flush=True)
        break
    time.sleep(0.02)
`;

test.skipIf(!hasNamespaces)('a full disk keeps what was there', async () => {
  expect(await lineAfter('disk', 'full', FILLS)).toBe('No space left on device as it was');
});

const HAS_NO_CHECKPOINTS = `
import pathlib, time
print("ready", flush=True)
while not pathlib.Path("/opt/ml/refused").exists():
    time.sleep(0.02)
print("left" if pathlib.Path("/opt/full").exists() else "clean", flush=True)
`;

test.skipIf(!hasNamespaces)('a full disk that fails says so', async () => {
  const host = await hostOf('refuses', HAS_NO_CHECKPOINTS);
  const lines = createInterface({ input: host.stdout })[Symbol.asyncIterator]();
  await lines.next();
  expect(host.inject('disk')).toBe(true);
  let said = '';
  for await (const line of createInterface({ input: host.stderr })) {
    said += line;
    if (line.includes('refused')) break;
  }
  expect(said).toContain('FileNotFoundError');
  await writeFile(path.join(folder, 'refuses', 'refused'), '');
  expect((await lines.next()).value).toBe('clean');
  host.kill();
  await host.exited;
  expect(host.inject('disk')).toBe(false);
});

const RECEIVES = `
import socket, sys
connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
print("ready", flush=True)
print("closed" if connection.recv(1) == b"" else "data", flush=True)
`;

test('a lost network breaks connections that are idle', async () => {
  const server = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? String(address?.port) : '';
  expect(await lineAfter('network', 'cut', RECEIVES, port)).toBe('closed');
  server.close();
});

const WATCHES = `
import pathlib, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "while True: pass"])
state = lambda: pathlib.Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[0]
print("ready", flush=True)
while state() != "T":
    time.sleep(0.02)
print("stopped", flush=True)
`;

test('a hang stops the script and not the agent', async () => {
  expect(await lineAfter('hang', 'hangs', WATCHES)).toBe('stopped');
});

const COUNTS = `
import time
print("ready", flush=True)
last, longest = time.monotonic(), 0.0
while longest < 0.3:
    time.sleep(0.01)
    last, longest = time.monotonic(), max(longest, time.monotonic() - last)
print("was stopped and goes on", flush=True)
`;

test('a slow host stops and goes on', async () => {
  expect(await lineAfter('slow', 'slow', COUNTS)).toBe('was stopped and goes on');
});
