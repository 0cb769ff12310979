/** Renews packages/catalog/data/{instances,efa}.json by what EC2 answers to the credentials at hand. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type EfaTable,
  type InstanceTable,
  instanceTableText,
  refreshSnapshot,
} from '@tidewheel/catalog/hardware.ts';
import { TRAINING_TYPES } from '@tidewheel/declaration/instance-types.ts';
import { readCommandLine, runCommand } from '@tidewheel/kit/command-line.ts';
import * as z from 'zod';
import { describeHardware } from '../../functions/aws/market/ec2-market.ts';
import { ec2In } from '../../functions/aws/shared/compute-clients.ts';

const DATA = join(import.meta.dirname, '../../packages/catalog/data');
const INSTANCES = join(DATA, 'instances.json');
const EFA = join(DATA, 'efa.json');

const USAGE = `npm run catalog:refresh -- [--region REGION]

Asks EC2 (ec2:DescribeInstanceTypes, with the credentials at hand) for the hardware of every type in the snapshot and of
every type that SageMaker trains on, renews packages/catalog/data/instances.json and efa.json, and prints what changed.

  --region REGION  a region that offers the newest types (default: us-east-1)`;

const instanceTable: z.ZodType<InstanceTable> = z.object({
  source: z.string(),
  asOf: z.string(),
  columns: z.array(z.string()),
  rows: z.array(z.array(z.union([z.string(), z.number(), z.boolean(), z.null()]))),
});

const efaTable: z.ZodType<EfaTable> = z.object({
  source: z.string(),
  types: z.record(z.string(), z.string()),
  firstCard: z.record(z.string(), z.number()),
});

/** The file's text is written again, so the table keeps its other fields and their order. */
function readTable<Table>(file: string, schema: z.ZodType<Table>): Table {
  const table: unknown = JSON.parse(readFileSync(file, 'utf8'));
  checkTable(table, schema);
  return table;
}

function checkTable<Table>(table: unknown, schema: z.ZodType<Table>): asserts table is Table {
  schema.parse(table);
}

async function main(args: readonly string[]): Promise<number> {
  const { values } = readCommandLine(args, {
    schema: z.object({ region: z.string().default('us-east-1') }),
  });
  const instances = readTable(INSTANCES, instanceTable);
  const efa = readTable(EFA, efaTable);
  const trained = TRAINING_TYPES.map((name) => name.slice('ml.'.length));
  const types = [...instances.rows.map(([type]) => String(type)), ...trained];
  const answer = await describeHardware(ec2In(values.region), types);
  if (answer.kind === 'unknown') throw new Error(`nothing was written: ${answer.message}`);
  const source = `EC2 DescribeInstanceTypes in ${values.region}`;
  const asOf = new Date().toISOString().slice(0, 10);
  const renewed = refreshSnapshot({ instances, efa }, answer.value, { source, asOf });
  writeFileSync(INSTANCES, instanceTableText(renewed.instances));
  writeFileSync(EFA, `${JSON.stringify(renewed.efa, null, 2)}\n`);
  for (const change of renewed.changes) console.log(change);
  console.log(`${answer.value.length} types read, ${renewed.changes.length} changes`);
  return 0;
}

await runCommand(USAGE, main);
