/** What a training opens on this machine is not for the local network. */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, expect, it } from 'vitest';
import { projectPython } from '../../../../test/support/emulator.ts';
import { folderOfTest } from '../../../../test/support/folders.ts';
import { layEnvironment } from '../../../environments/host-environment.ts';

/** As local hosts have them. */
const HOST = '127.64.200.7';
const PORT = 19_871;

/** As torchrun does. Prints the addresses, in the kernel's hexadecimal, at which the store listens. */
const SCRIPT = `
from torch.distributed import TCPStore
store = TCPStore('${HOST}', ${PORT}, 1, True, multi_tenant=True)
store.set('key', 'value')
assert store.get('key') == b'value'
rows = [line.split() for table in ('tcp', 'tcp6') for line in open(f'/proc/net/{table}')]
print(*(row[1] for row in rows if row[1].endswith(':${PORT.toString(16).toUpperCase()}') and row[3] == '0A'))
`;

let folder: string;

beforeEach(() => {
  folder = folderOfTest('loopback');
});

async function addressesBy(python: string): Promise<string> {
  const { stdout } = await promisify(execFile)(python, ['-c', SCRIPT], { cwd: folder });
  return stdout.trim();
}

it('the store of torchrun listens at its host alone', async () => {
  const python = await layEnvironment(projectPython(), path.join(folder, 'host'), path.join(folder, 'kept'));
  expect(await addressesBy(python)).toBe('07C8407F:4D9F');
});
