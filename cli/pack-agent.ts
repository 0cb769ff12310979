/** `npm run pack-agent -- FILE`: the agent and its hooks as jobs get them, for hosts that are started by hand. */
import { join } from 'node:path';
import { readCommandLine, runCommand, usable } from '@tidewheel/kit/command-line.ts';
import * as z from 'zod';
import { writeAgent } from '../functions/aws/lambda/agent.ts';

const USAGE = `npm run pack-agent -- FILE

Writes the agent to FILE, a zip that Python 3.10 and newer runs ("python3 FILE"), and beside it automatic.pyz and
instrument.pyz, the hooks for a script's processes. The same code becomes the same bytes.`;

async function pack(args: readonly string[]): Promise<number> {
  const { positionals } = readCommandLine(args, {
    schema: z.object({}),
    positionals: ['FILE'],
  });
  const [file = ''] = positionals;
  await usable('FILE', file, () => writeAgent(join(import.meta.dirname, '..'), file));
  return 0;
}

await runCommand(USAGE, pack);
