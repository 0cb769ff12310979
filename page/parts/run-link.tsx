/** A link to a run, which the keys j and k reach. */
import { hrefOf } from '../state/address.ts';

export const RunLink = ({ runId }: { readonly runId: string }) => (
  <a href={hrefOf(['runs', runId])} id={`link-${runId}`} data-row>
    {runId}
  </a>
);
