/** `tidewheel page`: pipelines and runs in a browser. */
import { wholeNumber } from '@tidewheel/kit/fields.ts';
import { serveScreen } from '../command/serve-screen.ts';
import { defineVerb, option } from '../command/verb.ts';

export const verb = defineVerb({
  name: 'page',
  summary: 'serve the page on this machine: every pipeline and run in a browser',
  about: `
Serves on 127.0.0.1 until Ctrl-C, and signs what the page asks with your credentials. The printed address carries a
token; other users of the machine are refused.`,
  options: {
    port: option('N', 'instead of any free port', wholeNumber(1, 65_535).optional()),
  },
  examples: [
    ['', 'prints its address'],
    ['--stage prod --port 4580', 'of a stack on AWS, at a port that stays'],
  ],
  run: ({ values }, context) => serveScreen(context, values),
});
