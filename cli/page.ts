/** `npm run page`: pipelines and runs in a browser. Reads the API; changes nothing. */
import { once } from 'node:events';
import { defaultProvider } from '@aws-sdk/credential-provider-node';
import { readCommandLine, runCommand, UsageError } from '@tidewheel/emulators/shared/command-line.ts';
import * as z from 'zod';
import { surroundingsOf } from './deployment/surroundings.ts';
import { buildPage } from './page/files.ts';
import { servePage } from './page/server.ts';

const USAGE = `npm run page [-- --port 4580]

Pipelines and runs in a browser: each run as one line of time over all its attempts, with its curves. The command serves
the page on 127.0.0.1 until Ctrl-C, and signs what the page reads with your credentials. The printed address carries a
token; other users of the machine are refused.

  --port N     instead of any free port

API_URL, AWS_REGION and credentials name the API. npm start prints those of the local region; of a deployment
"npx osls info --verbose --stage STAGE --region REGION" prints the address as ApiUrl.`;

const PORT = 'write a port from 1 to 65535';
const WORDS = {
  environment: ['API_URL', 'AWS_REGION'],
  options: { port: { type: 'string' } },
  schema: z.object({ port: z.coerce.number(PORT).int(PORT).min(1, PORT).max(65_535, PORT).optional() }),
} as const;

async function main(args: readonly string[]): Promise<number> {
  const { values } = readCommandLine(args, WORDS);
  const { region } = surroundingsOf(process.env);
  const apiUrl = (process.env['API_URL'] ?? '').replace(/\/+$/, '');
  if (!/^https?:$/.test(URL.parse(apiUrl)?.protocol ?? ''))
    throw new UsageError([
      `API_URL is "${apiUrl}": write the API's address, which begins with https:// or http://`,
    ]);
  const deps = { files: await buildPage(), apiUrl, region, credentials: defaultProvider() };
  const page = await servePage(deps, values.port).catch((error: unknown) => {
    const isTaken = error instanceof Error && Reflect.get(error, 'code') === 'EADDRINUSE';
    throw isTaken ? new UsageError([`--port is "${values.port}", which is taken: name another one`]) : error;
  });
  process.stdout.write(`${page.address}\n  shows ${apiUrl} (Ctrl-C ends it)\n`);
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
  page.close();
  return 0;
}

await runCommand(USAGE, main);
