/** `tidewheel mcp`: the deployment as tools for a coding agent. */
import * as z from 'zod';
import { defineVerb, option } from '../command/verb.ts';

const USD = 'write dollars, 0 or more, such as 20';

export const verb = defineVerb({
  name: 'mcp',
  summary: 'serve the deployment to a coding agent, as a Model Context Protocol server',
  about: `
The agent's program starts it, and talks to it over standard input and output. Its tools are the operations of the API
with your credentials, and init, check and apply of this folder. A tool that may cost money or lose something is a dry
run first, and asks you where the program can ask. The API refuses a call that could bring all open runs, and those that
ended meanwhile, above --max-usd. Secrets are hidden, and texts of others are marked as data.`,
  options: {
    'max-usd': option(
      'USD',
      'what runs may cost together; default 0: none starts',
      z.coerce.number(USD).min(0, USD).max(1_000_000, USD).default(0),
    ),
  },
  examples: [
    ['--max-usd 20', 'in the configuration of the agent, as its command'],
    ['--stage prod', 'reads, and starts nothing'],
  ],
  run: async ({ values }, context) => {
    // Only now: the SDK of the protocol takes a while.
    const [{ serveMcp }, init, check, apply] = await Promise.all([
      import('../mcp/mcp-server.ts'),
      import('./init.ts'),
      import('./check.ts'),
      import('./apply.ts'),
    ]);
    const verbs = { init: init.verb, check: check.verb, apply: apply.verb };
    await serveMcp(context, { maxUsd: values['max-usd'], verbs });
    return 0;
  },
});
