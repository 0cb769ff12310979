/** MiniStack without our patches, to compare with. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { projectPython } from '../../../../test/support/emulator.ts';

export interface Unpatched {
  readonly url: string;
  readonly child: ChildProcess;
  readonly folder: string;
}

/** MiniStack as it comes, on a free port. */
export async function startUnpatched(): Promise<Unpatched> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'tidewheel-plain-'));
  const port = await freePort();
  const child = spawn(projectPython(), ['-m', 'ministack'], {
    env: {
      PATH: process.env['PATH'],
      TMPDIR: folder,
      BIND_HOST: '127.0.0.1',
      GATEWAY_PORT: String(port),
      IOT_MTLS_ENABLED: '0',
      SFTP_ENABLED: '0',
    },
    stdio: 'ignore',
  });
  const url = `http://127.0.0.1:${port}`;
  for (let tries = 0; tries < 200 && child.exitCode === null; tries += 1) {
    if (
      await fetch(`${url}/_ministack/ready`).then(
        (response) => response.ok,
        () => false,
      )
    )
      break;
    await sleep(50);
  }
  return { url, child, folder };
}

async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  server.close();
  await once(server, 'close');
  return port;
}
