/** `npm run pack-agent -- FILE`: the agent as jobs get it, for hosts that are started by hand. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readCommandLine, runCommand, usable } from '@tidewheel/kit/command-line.ts';
import * as z from 'zod';
import { packAgent } from '../functions/aws/lambda/agent.ts';

const USAGE = `npm run pack-agent -- FILE

Writes the agent to FILE: one zip that Python 3.10 and newer runs ("python3 FILE"), the same bytes for the same agent.`;

async function pack(args: readonly string[]): Promise<number> {
  const { positionals } = readCommandLine(args, {
    options: {},
    schema: z.object({}),
    positionals: ['FILE'],
  });
  const [file = ''] = positionals;
  const archive = await packAgent(join(import.meta.dirname, '..'));
  await usable('FILE', file, () => writeFile(file, archive));
  process.stdout.write(`${file}: ${(archive.length / 1024).toFixed(0)} KiB\n`);
  return 0;
}

await runCommand(USAGE, pack);
