/**
 * Every code of EC2's page of errors, read on 2026-11-29, with what it means for a launch.
 * https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
 */
import type { AwsErrorClass } from '../../../functions/records/aws-error-class.ts';

const CODES: Readonly<Record<Exclude<AwsErrorClass, 'unknown'>, string>> = {
  throttle: `
    BandwidthLimitExceeded ConcurrentTagAccess CreditSpecificationUpdateInProgress PendingVerification
    RequestLimitExceeded SnapshotCreationPerVolumeRateExceeded`,
  transient: `InternalError InternalFailure RetryableError ServerInternal ServiceUnavailable Unavailable`,
  quota: `
    ActiveVpcPeeringConnectionPerVpcLimitExceeded AddressLimitExceeded AttachmentLimitExceeded
    CapacityBlockDescribeLimitExceeded ClientVpnAuthorizationRuleLimitExceeded
    ClientVpnCertificateRevocationListLimitExceeded ClientVpnEndpointLimitExceeded ClientVpnRouteLimitExceeded
    ClientVpnTerminateConnectionsLimitExceeded ConcurrentCreateImageNoRebootLimitExceeded
    ConcurrentSnapshotLimitExceeded CustomerGatewayLimitExceeded FilterLimitExceeded FlowLogsLimitExceeded
    HostLimitExceeded InstanceLimitExceeded InternetGatewayLimitExceeded KeyPairLimitExceeded
    MaxConfigLimitExceededException MaxIOPSLimitExceeded MaxSpotFleetRequestCountExceeded
    MaxSpotInstanceCountExceeded MaxTemplateLimitExceeded MaxTemplateVersionLimitExceeded
    NatGatewayLimitExceeded NetworkAclEntryLimitExceeded NetworkAclLimitExceeded NetworkInterfaceLimitExceeded
    OutstandingVpcPeeringConnectionLimitExceeded PendingSnapshotLimitExceeded
    PendingVpcPeeringConnectionLimitExceeded PlacementGroupLimitExceeded PrivateIpAddressLimitExceeded
    RequestResourceCountExceeded ReservedInstancesCountExceeded ReservedInstancesLimitExceeded
    ResourceCountExceeded ResourceCountLimitExceeded ResourceLimitExceeded RouteLimitExceeded
    RouteTableLimitExceeded RulesPerSecurityGroupLimitExceeded ScheduledInstanceLimitExceeded
    SecurityGroupLimitExceeded SecurityGroupsPerInstanceLimitExceeded SecurityGroupsPerInterfaceLimitExceeded
    SnapshotLimitExceeded SubnetLimitExceeded TagLimitExceeded TargetCapacityLimitExceededException
    TrafficMirrorFilterLimitExceeded TrafficMirrorFilterRuleLimitExceeded TrafficMirrorSessionLimitExceeded
    TrafficMirrorSessionsPerInterfaceLimitExceeded TrafficMirrorSessionsPerTargetLimitExceeded
    TrafficMirrorSourcesPerTargetLimitExceeded TrafficMirrorTargetLimitExceeded UpdateLimitExceeded
    VcpuLimitExceeded VolumeIOPSLimit VolumeLimitExceeded VolumeModificationSizeLimitExceeded
    VpcEndpointLimitExceeded VpcLimitExceeded VpcPeeringConnectionsPerVpcLimitExceeded
    VpnConnectionLimitExceeded VpnGatewayAttachmentLimitExceeded VpnGatewayLimitExceeded`,
  capacity: `
    IncompatibleHostRequirements InsufficientAddressCapacity InsufficientCapacity InsufficientCapacityOnHost
    InsufficientFreeAddressesInSubnet InsufficientHostCapacity InsufficientInstanceCapacity
    InsufficientReservedInstanceCapacity InsufficientReservedInstancesCapacity InsufficientVolumeCapacity
    MaxScheduledInstanceCapacityExceeded ReservationCapacityExceeded ReservedInstancesUnavailable
    ScheduledInstanceSlotUnavailable SpotMaxPriceTooLow UnavailableHostRequirements UnfulfillableCapacity
    Unsupported VolumeTypeNotAvailableInZone`,
  unsupported: `
    BootForVolumeTypeUnsupported EncryptedVolumesNotSupported InstanceCreditSpecification.NotSupported
    NetworkInterfaceNotSupported NonEBSInstance NotExportable SnapshotCopyUnsupported.InterRegion
    UnknownPrincipalType.Unsupported UnsupportedException UnsupportedHibernationConfiguration
    UnsupportedHostConfiguration UnsupportedInstanceAttribute UnsupportedInstanceTypeOnHost
    UnsupportedOperation UnsupportedProtocol UnsupportedTenancy`,
  access: `
    AccountDisabled Blocked CustomerKeyHasBeenRevoked DeclarativePoliciesAccessDeniedException
    DeclarativePoliciesNotEnabledException InaccessibleStorageLocation InaccessibleStorageLocationException
    LogDestinationPermissionIssue OperationNotPermitted OptInRequired TagPolicyViolation UnauthorizedOperation`,
  credentials: `
    AuthFailure IncompleteSignature InvalidClientTokenId InvalidSecurity.RequestHasExpired
    MissingAuthenticationToken RequestExpired SignatureDoesNotMatch`,
  notFound: `
    DefaultVpcDoesNotExist InstanceTpmEkPubNotFound InvalidAddress.NotFound InvalidAddressID.NotFound
    InvalidAllocationID.NotFound InvalidAMIID.NotFound InvalidAssociationID.NotFound InvalidAttachment.NotFound
    InvalidAttachmentID.NotFound InvalidBundleID.NotFound InvalidCapacityBlockOfferingIdNotFound
    InvalidCapacityReservationId.NotFound InvalidCarrierGatewayID.NotFound
    InvalidClientVpnActiveAssociationNotFound InvalidClientVpnAssociationIdNotFound
    InvalidClientVpnConnection.IdNotFound InvalidClientVpnConnection.UserNotFound
    InvalidClientVpnEndpointAuthorizationRuleNotFound InvalidClientVpnEndpointId.NotFound
    InvalidClientVpnRouteNotFound InvalidClientVpnSubnetId.NotFound InvalidCustomerGatewayID.NotFound
    InvalidDhcpOptionID.NotFound InvalidDhcpOptionsID.NotFound InvalidEgressOnlyInternetGatewayId.NotFound
    InvalidElasticGpuID.NotFound InvalidExportTaskID.NotFound InvalidFlowLogId.NotFound
    InvalidFpgaImageID.NotFound InvalidGatewayID.NotFound InvalidGroup.NotFound InvalidHostID.NotFound
    InvalidHostId.NotFound InvalidInstanceConnectEndpointId.NotFound InvalidInstanceEventIDNotFound
    InvalidInstanceID.NotFound InvalidInternetGatewayID.NotFound InvalidKeyPair.NotFound
    InvalidLaunchTemplateId.NotFound InvalidLaunchTemplateId.VersionNotFound
    InvalidLaunchTemplateName.NotFoundException InvalidNatGatewayID.NotFound InvalidNetworkAclEntry.NotFound
    InvalidNetworkAclID.NotFound InvalidNetworkInterface.NotFound InvalidNetworkInterfaceID.NotFound
    InvalidNetworkLoadBalancerArn.NotFound InvalidPermission.NotFound InvalidPlacementGroup.Unknown
    InvalidPrefixListID.NotFound InvalidReservationID.NotFound InvalidResourceConfigurationArn.NotFound
    InvalidRoute.NotFound InvalidRouteTableID.NotFound InvalidSecurityGroupID.NotFound
    InvalidSecurityGroupRuleId.NotFound InvalidSnapshot.NotFound InvalidSpotDatafeed.NotFound
    InvalidSpotFleetRequestId.NotFound InvalidSpotInstanceRequestID.NotFound InvalidSubnetID.NotFound
    InvalidSubnetId.NotFound InvalidTrafficMirrorFilterNotFound InvalidTrafficMirrorFilterRuleNotFound
    InvalidTrafficMirrorSessionNotFound InvalidTrafficMirrorTargetNoFound InvalidVolume.NotFound
    InvalidVpcEndpoint.NotFound InvalidVpcEndpointId.NotFound InvalidVpcEndpointService.NotFound
    InvalidVpcEndpointServiceId.NotFound InvalidVpcID.NotFound InvalidVpcPeeringConnectionID.NotFound
    InvalidVpnConnectionID.NotFound InvalidVpnGatewayAttachment.NotFound InvalidVpnGatewayID.NotFound
    InvalidZone.NotFound LogDestinationNotFound NatGatewayNotFound NetworkLoadBalancerNotFoundException
    NoSuchVersion`,
  conflict: `
    AsnConflict ClientVpnEndpointAssociationExists DefaultSubnetAlreadyExistsInAvailabilityZone
    DefaultVpcAlreadyExists ExistingVpcEndpointConnections FlowLogAlreadyExists
    HostAlreadyCoveredByReservation InstanceAlreadyLinked InterfaceInUseByTrafficMirrorSession
    InterfaceInUseByTrafficMirrorTarget InvalidAMIName.Duplicate InvalidCidr.InUse
    InvalidClientVpnDuplicateAssociationException InvalidClientVpnDuplicateAuthorizationRule
    InvalidClientVpnDuplicateRoute InvalidClientVpnSubnetId.DuplicateAz
    InvalidCustomerGateway.DuplicateIpAddress InvalidGroup.Duplicate InvalidGroup.InUse
    InvalidInstanceCreditSpecification.DuplicateInstanceId InvalidIPAddress.InUse InvalidKeyPair.Duplicate
    InvalidLaunchTemplateName.AlreadyExistsException InvalidNetworkInterface.InUse InvalidOption.Conflict
    InvalidPermission.Duplicate InvalidPlacementGroup.Duplicate InvalidPlacementGroup.InUse
    InvalidSnapshot.InUse InvalidSubnet.Conflict InvalidVolumeID.Duplicate NetworkAclEntryAlreadyExists
    NlbInUseByTrafficMirrorTargetException Resource.AlreadyAssigned Resource.AlreadyAssociated
    RouteAlreadyExists TrafficMirrorFilterInUse TrafficMirrorFilterRuleAlreadyExists
    TrafficMirrorTargetInUseException VolumeInUse VpcPeeringConnectionAlreadyExists`,
  state: `
    BundlingInProgress CannotDelete DeleteConversionTaskError DependencyViolation DryRunOperation
    FleetNotInModifiableState IdempotentInstanceTerminated IdempotentParameterMismatch
    IncorrectInstanceState IncorrectModificationState IncorrectSpotRequestState IncorrectState
    IncorrectStateException InvalidCustomerGatewayState InvalidHostState InvalidInstanceState
    InvalidRoute.InvalidState InvalidState InvalidStateTransition InvalidVpcState
    InvalidVpnConnection.InvalidState InvalidVpnGatewayState ScheduledInstanceSlotNotOpen`,
  validation: `
    ClientInvalidParameterValue DiskImageSizeTooLarge DuplicateSubnetsInSameZone Gateway.NotAttached
    InstanceEventStartTimeCannotChange InvalidAction InvalidAddress.Locked InvalidAddress.Malformed
    InvalidAffinity InvalidAMIAttributeItemValue InvalidAMIID.Malformed InvalidAMIID.Unavailable
    InvalidAMIName.Malformed InvalidAutoPlacement InvalidAvailabilityZone InvalidBlockDeviceMapping
    InvalidCapacityBlockOfferingIdExpired InvalidCapacityBlockOfferingIdMalformed
    InvalidCapacityReservationId.Malformed InvalidCapacityReservationState.PendingActivation InvalidCharacter
    InvalidClientToken InvalidClientVpnSubnetId.DifferentAccount InvalidClientVpnSubnetId.OverlappingCidr
    InvalidConversionTaskId InvalidConversionTaskId.Malformed InvalidCpuCredits InvalidCpuCredits.Malformed
    InvalidCustomerGatewayId.Malformed InvalidDeclarativePoliciesReportId.Malformed
    InvalidDhcpOptionsId.Malformed InvalidEgressOnlyInternetGatewayId.Malformed InvalidElasticGpuID.Malformed
    InvalidExportTaskID.Malformed InvalidFilter InvalidFormat InvalidFpgaImageID.Malformed
    InvalidGroup.Reserved InvalidGroupId.Malformed InvalidHostConfiguration InvalidHostId InvalidHostID.Malformed
    InvalidHostId.Malformed InvalidHostReservationId.Malformed InvalidHostReservationOfferingId.Malformed
    InvalidIamInstanceProfileArn.Malformed InvalidID InvalidInput InvalidInstanceAttributeValue
    InvalidInstanceConnectEndpointId.Malformed InvalidInstanceCreditSpecification
    InvalidInstanceEventStartTime InvalidInstanceFamily InvalidInstanceID InvalidInstanceID.Malformed
    InvalidInstanceID.NotLinkable InvalidInstanceType InvalidInterface.IpAddressLimitExceeded
    InvalidInternetGatewayId.Malformed InvalidKernelId.Malformed InvalidKey.Format InvalidKeyPair.Format
    InvalidLaunchTargets InvalidLaunchTemplateId.Malformed InvalidLaunchTemplateName.MalformedException
    InvalidManifest InvalidMaxResults InvalidNetworkAclId.Malformed
    InvalidNetworkInterfaceAttachmentId.Malformed InvalidNetworkInterfaceId.Malformed
    InvalidNetworkLoadBalancerArn.Malformed InvalidNextToken InvalidPaginationToken InvalidParameter
    InvalidParameterCombination InvalidParameterDependency InvalidParameterValue InvalidPermission.Malformed
    InvalidPlacementGroupId.Malformed InvalidPolicyDocument InvalidPrefixListId.Malformed InvalidProductInfo
    InvalidPurchaseToken.Expired InvalidPurchaseToken.Malformed InvalidQuantity InvalidQueryParameter
    InvalidRamDiskId.Malformed InvalidRegion InvalidRequest InvalidReservationID.Malformed
    InvalidReservedInstancesId InvalidReservedInstancesOfferingId InvalidResourceConfigurationArn.Malformed
    InvalidResourceType.Unknown InvalidRoute.Malformed InvalidRouteTableId.Malformed InvalidScheduledInstance
    InvalidSecurityGroupId.Malformed InvalidSecurityGroupRuleId.Malformed InvalidServiceName
    InvalidSnapshotID.Malformed InvalidSpotFleetRequestConfig InvalidSpotFleetRequestId.Malformed
    InvalidSpotInstanceRequestID.Malformed InvalidSubnet InvalidSubnet.Range InvalidSubnetID.Malformed
    InvalidTagKey.Malformed InvalidTargetArn.Unknown InvalidTargetException InvalidTenancy InvalidTime
    InvalidUserID.Malformed InvalidVolume.ZoneMismatch InvalidVolumeID.Malformed InvalidVolumeID.ZoneMismatch
    InvalidVpcEndpointId.Malformed InvalidVpcEndpointServiceIdId.Malformed InvalidVpcEndpointType
    InvalidVpcID.Malformed InvalidVpcPeeringConnectionId.Malformed
    InvalidVpcPeeringConnectionState.DnsHostnamesDisabled InvalidVpcRange InvalidVpnConnection.InvalidType
    InvalidVpnConnectionID LegacySecurityGroup LimitPriceExceeded MalformedQueryString MissingAction
    MissingInput MissingParameter NatGatewayMalformed ScheduledInstanceParameterMismatch UnknownParameter
    UnknownVolumeType ValidationError VPCIdNotSpecified VPCResourceNotSpecified ZonesMismatched`,
};

export const EC2_ERROR_CODES: readonly (readonly [string, AwsErrorClass])[] = Object.entries(CODES).flatMap(
  ([kind, codes]) =>
    codes
      .trim()
      .split(/\s+/)
      .map((code): [string, AwsErrorClass] => [code, kind as AwsErrorClass]),
);
