/** `node local/market/cli.ts`: the local Spot market by itself, for any EC2 client. */
import { parseArgs } from 'node:util';
import { startLocalMarket } from './market.ts';
import { marketScriptOf, SCRIPT_HELP } from './script-option.ts';
import { REGIONS } from './world.ts';

const USAGE = `usage: node local/market/cli.ts [OPTIONS]

  --script SCRIPT          ${SCRIPT_HELP}; default calm
  --port N                 default: a free one
  --region REGION          of unsigned requests; default ${REGIONS[0]}
  --time-scale X           market seconds in a real one; default 1
  --config-limit N         new GetSpotPlacementScores configurations a day; default 50
  --aws-endpoint-url URL   answers every EC2 action that is not the market's; without it they are refused
  --help

Then: AWS_ENDPOINT_URL_EC2=http://127.0.0.1:PORT aws ec2 get-spot-placement-scores --region ${REGIONS[0]} \\
        --instance-types g5.xlarge g6.xlarge g4dn.xlarge --target-capacity 2 --single-availability-zone
`;

const OPTIONS = {
  script: { type: 'string', default: 'calm' },
  port: { type: 'string', default: '0' },
  region: { type: 'string', default: REGIONS[0] },
  'time-scale': { type: 'string', default: '1' },
  'config-limit': { type: 'string', default: '50' },
  'aws-endpoint-url': { type: 'string' },
  help: { type: 'boolean', default: false },
} as const;

async function main(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: OPTIONS });
  if (values.help) {
    process.stdout.write(USAGE);
    return;
  }
  const endpoint = values['aws-endpoint-url'];
  if (endpoint !== undefined && !URL.canParse(endpoint)) {
    throw new RangeError(`--aws-endpoint-url is '${endpoint}', write it as http://127.0.0.1:4566`);
  }
  const market = await startLocalMarket({
    script: marketScriptOf(values.script, values.region),
    port: Number(values.port),
    region: values.region,
    timeScale: Number(values['time-scale']),
    configurationLimit: Number(values['config-limit']),
    ...(endpoint !== undefined && { awsEndpointUrl: endpoint }),
    log: (line) => console.error(line),
  });
  console.log(`AWS_ENDPOINT_URL_EC2=${market.url}`);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void market.close());
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
