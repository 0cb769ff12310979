/** The market of each region, for the functions that ask it. Not in services.ts: its price tables are in the bundle of who imports it. */
import type { MarketSource } from '../../core/placement/model/market-source.ts';
import { clock } from '../lambda/services.ts';
import * as compute from '../shared/compute-clients.ts';
import { config } from '../shared/config.ts';
import { ec2Market } from './ec2-market.ts';

/** One a process and region, so that a question goes to AWS again only when its answer has grown old. */
const markets = new Map<string, MarketSource>();

export function marketOf(region: string): MarketSource {
  const ec2 = region === config.region() ? compute.ec2() : compute.ec2In(region);
  const market = markets.get(region) ?? ec2Market({ ec2, region, clock });
  markets.set(region, market);
  return market;
}
