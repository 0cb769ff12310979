/** Reads the quotas of a service: the account's own where it has any, else AWS's defaults. */
import {
  ListAWSDefaultServiceQuotasCommand,
  ListServiceQuotasCommand,
  type ServiceQuota,
  type ServiceQuotasClient,
} from '@aws-sdk/client-service-quotas';
import type { Quota, QuotaService } from '../../core/deployment/account-view.ts';

const PAGE = 100;

/** "If an applied quota value is not available for a quota, the quota is not retrieved": the defaults fill the gaps. */
export async function readQuotas(
  client: ServiceQuotasClient,
  service: QuotaService,
): Promise<readonly Quota[]> {
  const [defaults, applied] = await Promise.all([
    allPages((page) =>
      client.send(new ListAWSDefaultServiceQuotasCommand({ ServiceCode: service, ...page })),
    ),
    allPages((page) => client.send(new ListServiceQuotasCommand({ ServiceCode: service, ...page }))),
  ]);
  return [
    ...new Map([...defaults, ...applied].flatMap(quotaOf).map((quota) => [quota.code, quota])).values(),
  ];
}

interface Page {
  readonly Quotas?: ServiceQuota[] | undefined;
  readonly NextToken?: string | undefined;
}

async function allPages(
  read: (page: { MaxResults: number; NextToken?: string }) => Promise<Page>,
): Promise<readonly ServiceQuota[]> {
  const all: ServiceQuota[] = [];
  let next: string | undefined;
  do {
    const { Quotas = [], NextToken } = await read({
      MaxResults: PAGE,
      ...(next !== undefined && { NextToken: next }),
    });
    all.push(...Quotas);
    next = NextToken;
  } while (next !== undefined);
  return all;
}

const quotaOf = ({ QuotaName, QuotaCode, Value }: ServiceQuota): Quota[] =>
  QuotaName === undefined || QuotaCode === undefined || Value === undefined
    ? []
    : [{ name: QuotaName, code: QuotaCode, value: Value }];
