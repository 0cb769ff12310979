/** What a deployment lets declarations name. */
import type { Allowed } from '../../../functions/run/ingest/allowed.ts';

/** Every network, and of the rest what each deployment allows. */
export const ANY_NETWORK: Allowed = {
  account: '123456789012',
  subnets: ['*'],
  securityGroups: ['*'],
  imageAccounts: [],
  sharedPrefixes: [],
  packageIndexSecret: '',
  packageIndexRepository: '',
  registries: true,
};
