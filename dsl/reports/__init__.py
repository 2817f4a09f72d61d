"""`dslc report`: all that is known of kernels on machines, as one page of HTML."""
