"""What plans of many wave runs share: machines by their rates, tables of what is assumed, words for large numbers."""
