import { BlockList, isIPv6 } from 'node:net'

// Which addresses must no answer send us to?
//
// Whoever can change a name can make it point anywhere. Link-local addresses reach the machine's own neighbours and the metadata services of
// clouds, which hand out credentials; the unspecified ones reach ourselves.

const offLimits = new BlockList()
offLimits.addSubnet('169.254.0.0', 16, 'ipv4')
offLimits.addSubnet('fe80::', 10, 'ipv6')
offLimits.addSubnet('0.0.0.0', 8, 'ipv4')
offLimits.addAddress('::', 'ipv6')
// Metadata services that are not link-local: Alibaba, Oracle; AWS and Google over IPv6.
offLimits.addAddress('100.100.100.200', 'ipv4')
offLimits.addAddress('192.0.0.192', 'ipv4')
offLimits.addAddress('fd00:ec2::254', 'ipv6')
offLimits.addAddress('fd20:ce::254', 'ipv6')

/** True for link-local, metadata and unspecified addresses, also where IPv6 wraps IPv4. */
export function isOffLimits(address: string): boolean {
  return offLimits.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
}
