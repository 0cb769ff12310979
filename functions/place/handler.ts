import * as z from 'zod';
import * as clients from '../aws/clients.ts';
import { config } from '../aws/config.ts';
import { ec2Market } from '../aws/market.ts';
import { onion } from '../aws/onion.ts';
import { dynamoRunStore } from '../aws/run-store.ts';
import { place } from '../core/placement/place.ts';
import type { MarketSource } from '../core/placement/port.ts';

const clock = { now: () => new Date() };

/** One a process, so that a question is asked again only when its answer has grown old. */
let market: MarketSource | undefined;

export const handler = onion('place', z.object({ runId: z.string() }), ({ runId }) => {
  market ??= ec2Market({ ec2: clients.ec2(), region: config.region(), clock });
  return place({ runs: dynamoRunStore(clients.dynamo(), config.table()), market, clock }, { runId });
});
