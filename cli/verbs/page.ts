/** `tidewheel page`: pipelines and runs in a browser. */
import { once } from 'node:events';
import { defaultProvider } from '@aws-sdk/credential-provider-node';
import { UsageError } from '@tidewheel/emulators/shared/command-line.ts';
import * as z from 'zod';
import { defineVerb } from '../command/verb.ts';
import { buildPage } from '../page/files.ts';
import { servePage } from '../page/server.ts';

const PORT = 'write a port from 1 to 65535';

export const verb = defineVerb({
  name: 'page',
  summary: 'serve the page on this machine: every pipeline and run in a browser',
  about: `
Serves on 127.0.0.1 until Ctrl-C, and signs what the page asks with your credentials. The printed address carries a
token; other users of the machine are refused.`,
  options: { port: { type: 'string', value: 'N', about: 'instead of any free port' } },
  schema: z.object({
    port: z.coerce.number(PORT).int(PORT).min(1, PORT).max(65_535, PORT).optional(),
  }),
  examples: [
    ['', 'prints its address'],
    ['--stage prod --port 4580', 'of a stack on AWS, at a port that stays'],
  ],
  run: async ({ values }, { terminal, json, ...context }) => {
    const { apiUrl, region, title } = await context.deployment();
    const deps = { files: await buildPage(), apiUrl, region, credentials: defaultProvider() };
    const page = await servePage(deps, values.port).catch((error: unknown) => {
      const isTaken = error instanceof Error && Reflect.get(error, 'code') === 'EADDRINUSE';
      throw isTaken
        ? new UsageError([`--port is "${values.port}", which is taken: name another one`])
        : error;
    });
    if (json) terminal.print(JSON.stringify({ address: page.address }));
    else terminal.print(`${page.address}\n  shows the ${title} (Ctrl-C ends it)`);
    await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
    page.close();
    return 0;
  },
});
