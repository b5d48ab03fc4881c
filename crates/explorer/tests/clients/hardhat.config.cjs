// Only for the node; nothing is compiled.
module.exports = { solidity: '0.8.20' };
