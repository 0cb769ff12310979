/** `tidewheel page`: pipelines and runs in a browser. */
import * as z from 'zod';
import { serveScreen } from '../command/serve-screen.ts';
import { defineVerb } from '../command/verb.ts';

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
  run: ({ values }, context) => serveScreen(context, values),
});
