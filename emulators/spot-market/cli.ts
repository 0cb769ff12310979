/** `node emulators/spot-market/cli.ts`: the local Spot market by itself, for any EC2 client. */
import { join } from 'node:path';
import { printable, readCommandLine, runCommand } from '@tidewheel/kit/command-line.ts';
import { wholeNumber } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import { ACCESS_KEY_FILE, accessKeyIn, keyVariables } from '../access/access-key.ts';
import { REGIONS } from './model/offers.ts';
import { marketScriptOf, SCRIPT_HELP } from './script-option.ts';
import { startLocalMarket } from './spot-market.ts';

const USAGE = `usage: node emulators/spot-market/cli.ts [OPTIONS]

  --script SCRIPT          ${SCRIPT_HELP}; default calm
  --port N                 default: a free one
  --access-key FILE        the key that it answers; made if it is not there; default .tidewheel/access-key.json
  --region REGION          default ${REGIONS[0]}
  --config-limit N         new GetSpotPlacementScores configurations a day; default 50
  --aws-endpoint-url URL   answers every EC2 action that is not the market's; without it they are refused
  --help

Then, with what it prints in the environment: aws ec2 get-spot-placement-scores --region ${REGIONS[0]} \\
        --instance-types g5.xlarge g6.xlarge g4dn.xlarge --target-capacity 2 --single-availability-zone
`;

const schema = z.object({
  script: z.string().prefault('calm'),
  port: wholeNumber(0, 65_535).default(0),
  'access-key': z.string().prefault(join('.tidewheel', ACCESS_KEY_FILE)),
  region: z.enum(REGIONS, `give one of ${REGIONS.join(', ')}`).prefault(REGIONS[0]),
  'config-limit': wholeNumber(0, 1_000_000).default(50),
  'aws-endpoint-url': z.url('write it as http://127.0.0.1:4566').optional(),
});

async function main(args: readonly string[]): Promise<number> {
  const { values } = readCommandLine(args, { schema });
  const endpoint = values['aws-endpoint-url'];
  const credentials = await accessKeyIn(values['access-key']);
  const market = await startLocalMarket({
    credentials,
    script: marketScriptOf(values.script, values.region),
    port: values.port,
    region: values.region,
    configurationLimit: values['config-limit'],
    ...(endpoint !== undefined && { awsEndpointUrl: endpoint }),
    log: (line) => console.error(printable(line)),
  });
  const variables = { ...keyVariables(credentials), AWS_ENDPOINT_URL_EC2: market.url };
  for (const [name, value] of Object.entries(variables)) console.log(`${name}=${value}`);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void market.close());
  return 0;
}

await runCommand(USAGE, main);
