/** Reads a result of IAM's policy simulator. */
import type { EvaluationResult } from '@aws-sdk/client-iam';
import type { Decision } from '../../core/deployment/account-view.ts';

export function decisionOf({
  EvalActionName: action = '',
  EvalDecision,
  OrganizationsDecisionDetail,
  PermissionsBoundaryDecisionDetail,
}: EvaluationResult): Decision {
  if (EvalDecision === 'allowed') return { action, isAllowed: true };
  if (OrganizationsDecisionDetail?.AllowedByOrganizations === false)
    return { action, isAllowed: false, deniedBy: 'organization' };
  if (PermissionsBoundaryDecisionDetail?.AllowedByPermissionsBoundary === false)
    return { action, isAllowed: false, deniedBy: 'boundary' };
  return { action, isAllowed: false, deniedBy: 'policy' };
}
