/** The market of each region. It is not in services.ts, because its price tables would be in every bundle. */
import type { MarketSource } from '../../core/placement/model/market-source.ts';
import { clock } from '../lambda/services.ts';
import * as compute from '../shared/compute-clients.ts';
import { config } from '../shared/config.ts';
import { ec2Market } from './ec2-market.ts';

/** One per process and region, so that a question goes to AWS again only after its answer expires. */
const markets = new Map<string, MarketSource>();

export function marketOf(region: string): MarketSource {
  const ec2 = region === config.region() ? compute.ec2() : compute.ec2In(region);
  const market = markets.get(region) ?? ec2Market({ ec2, region, clock });
  markets.set(region, market);
  return market;
}
